import { Type } from 'typebox'
import { loginAccess, tokenAccess } from '../source-access.ts'
import { Day, field, listOfSome, Name } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const first = (what: string) => field(Day, 'First day', `${what} since this day.`, '2026-01-01')
const last = (what: string) => field(Day, 'Last day', `${what} until this day, inclusive.`, '2026-12-31')

const hospitalResources = [
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
    'The number of the facility.',
    '1',
  ),
  resources: field(
    listOfSome(Type.Enum([...hospitalResources]), { min: 1, most: 14 }),
    'Content',
    'Each becomes a table.',
    ['PATIENTS', 'INVOICES'],
  ),
  startDate: Type.Optional(first('Dated records')),
  endDate: Type.Optional(last('Dated records')),
}

/** BHIMA: a hospital's patients, invoices, stock and books. */
export const bhima = variant(connectorTypes.bhima, {
  given: { apiSource: loginAccess.given, ...hospital },
  answered: { apiSource: loginAccess.answered, ...hospital },
})

const staff = {
  report: Type.Optional(
    field(Name, 'Report', 'The id of the report to load. Set either this or resource types.', 'ihris-es-report-staff'),
  ),
  resourceTypes: Type.Optional(
    field(listOfSome(Name, { most: 50 }), 'Resource types', 'Each becomes a table. Set either these or a report.', [
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
  facilities: field(Type.Array(Name, { minItems: 1, maxItems: 1_000 }), 'Facilities', 'Ids of facilities.', [
    'e6799d64-d10d-4011-b8c2-0e4d4a3f65ce',
  ]),
  startDate: first('Requisitions initiated'),
  endDate: last('Requisitions initiated'),
}

/** OpenLMIS: the requisitions of facilities in a date range. */
export const openlmis = variant(connectorTypes.openlmis, {
  given: { apiSource: tokenAccess.given, ...requisitions },
  answered: { apiSource: tokenAccess.answered, ...requisitions },
})

const outbreakEntities = [
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
    'Content',
    'Each becomes a table; nested lists become child tables.',
    ['CASES', 'CONTACTS'],
  ),
  startDate: Type.Optional(first('Records changed')),
}

/** SORMAS: outbreak surveillance. */
export const sormas = variant(connectorTypes.sormas, {
  given: { apiSource: loginAccess.given, ...outbreaks },
  answered: { apiSource: loginAccess.answered, ...outbreaks },
})
