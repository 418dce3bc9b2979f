import { Type } from 'typebox'
import { loginAccess, tokenAccess } from '../access.ts'
import { Day, field, listOfSome, Name } from '../field.ts'
import { connectorTypes } from '../systems.ts'
import { variant } from '../variant.ts'

const first = (what: string) => field(Day, 'First day', `${what} from this day on.`, '2026-01-01')
const last = (what: string) => field(Day, 'Last day', `${what} to this day, which counts.`, '2026-12-31')

export const hospitalResources = [
  'PATIENTS',
  'VISITS',
  'INVOICES',
  'CASH',
  'STOCK_MOVEMENTS',
  'STOCK_LOT_MOVEMENTS',
  'STOCK_LOTS',
  'DEPOTS',
  'INVENTORY',
  'SERVICES',
  'EMPLOYEES',
  'FISCAL_YEARS',
  'DEBTOR_GROUPS',
  'GENERAL_LEDGER',
] as const

const hospital = {
  project: field(
    Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9]+$' }),
    'Project',
    'The number of the facility that is signed in to.',
    '1',
  ),
  resources: field(
    listOfSome(Type.Enum([...hospitalResources]), { min: 1, most: 14 }),
    'What is loaded',
    'Each becomes a table.',
    ['PATIENTS', 'INVOICES'],
  ),
  startDate: Type.Optional(first('Of what has a date, what is')),
  endDate: Type.Optional(last('Of what has a date, what is')),
}

/** BHIMA: a hospital's patients, invoices, stock and books. */
export const bhima = variant(connectorTypes.bhima, {
  given: { apiSource: loginAccess.given, ...hospital },
  answered: { apiSource: loginAccess.answered, ...hospital },
})

const staff = {
  report: Type.Optional(
    field(
      Name,
      'Report',
      'The id of a report, whose columns are loaded. Either this or resource types.',
      'ihris-es-report-staff',
    ),
  ),
  resourceTypes: Type.Optional(
    field(listOfSome(Name, { most: 50 }), 'Resource types', 'Each becomes a table. Either these or a report.', [
      'Practitioner',
      'PractitionerRole',
    ]),
  ),
}

/** iHRIS 5: a report, or resources. */
export const ihris = variant(connectorTypes.ihris, {
  given: { apiSource: loginAccess.given, ...staff },
  answered: { apiSource: loginAccess.answered, ...staff },
})

const requisitions = {
  facilities: field(Type.Array(Name, { minItems: 1, maxItems: 1_000 }), 'Facilities', 'By their ids.', [
    'e6799d64-d10d-4011-b8c2-0e4d4a3f65ce',
  ]),
  startDate: first('What was begun'),
  endDate: last('What was begun'),
}

/** OpenLMIS: the requisitions of facilities. The facility date-range variant. */
export const openlmis = variant(connectorTypes.openlmis, {
  given: { apiSource: tokenAccess.given, ...requisitions },
  answered: { apiSource: tokenAccess.answered, ...requisitions },
})

export const outbreakEntities = [
  'CASES',
  'CONTACTS',
  'EVENTS',
  'EVENT_PARTICIPANTS',
  'PERSONS',
  'SAMPLES',
  'PATHOGEN_TESTS',
  'ADDITIONAL_TESTS',
  'IMMUNIZATIONS',
  'VISITS',
  'TASKS',
  'TREATMENTS',
  'PRESCRIPTIONS',
  'CLINICAL_VISITS',
  'WEEKLY_REPORTS',
  'ENVIRONMENTS',
  'ENVIRONMENT_SAMPLES',
] as const

const outbreaks = {
  entities: field(
    listOfSome(Type.Enum([...outbreakEntities]), { min: 1, most: 17 }),
    'What is loaded',
    'Each becomes a table; lists inside of it become tables below.',
    ['CASES', 'CONTACTS'],
  ),
  startDate: Type.Optional(first('What was changed')),
}

/** SORMAS: outbreak surveillance. */
export const sormas = variant(connectorTypes.sormas, {
  given: { apiSource: loginAccess.given, ...outbreaks },
  answered: { apiSource: loginAccess.answered, ...outbreaks },
})
