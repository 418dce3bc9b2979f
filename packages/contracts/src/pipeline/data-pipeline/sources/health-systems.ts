import { Type } from 'typebox'
import { loginAccess, tokenAccess } from '../source-credentials.ts'
import { CalendarDate, describeField, listOfSome, SourceName } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const firstDayField = (subject: string) =>
  describeField(CalendarDate, 'First day', `${subject} since this day.`, '2026-01-01')
const lastDayField = (subject: string) =>
  describeField(CalendarDate, 'Last day', `${subject} until this day, inclusive.`, '2026-12-31')

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

const bhimaFields = {
  project: describeField(
    Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9]+$' }),
    'Project',
    'The number of the facility.',
    '1',
  ),
  resources: describeField(
    listOfSome(Type.Enum([...hospitalResources]), { min: 1, most: 14 }),
    'Content',
    'The kinds of records to load. Each becomes a table.',
    ['PATIENTS', 'INVOICES'],
  ),
  startDate: Type.Optional(firstDayField('Dated records')),
  endDate: Type.Optional(lastDayField('Dated records')),
}

/** BHIMA: a hospital's patients, invoices, stock and books. */
export const bhimaVariant = definePipelineVariant(connectorTypes.bhima, {
  requestFields: { apiSource: loginAccess.requestSchema, ...bhimaFields },
  responseFields: { apiSource: loginAccess.responseSchema, ...bhimaFields },
})

const ihrisFields = {
  report: Type.Optional(
    describeField(
      SourceName,
      'Report',
      'The id of the report to load. Set either this or `resourceTypes`.',
      'ihris-es-report-staff',
    ),
  ),
  resourceTypes: Type.Optional(
    describeField(
      listOfSome(SourceName, { most: 50 }),
      'Resource types',
      'FHIR resource types to load; each becomes a table. Set either this or `report`.',
      ['Practitioner', 'PractitionerRole'],
    ),
  ),
}

/** iHRIS 5: a report, or resources. */
export const ihrisVariant = definePipelineVariant(connectorTypes.ihris, {
  requestFields: { apiSource: loginAccess.requestSchema, ...ihrisFields },
  responseFields: { apiSource: loginAccess.responseSchema, ...ihrisFields },
})

const openlmisFields = {
  facilities: describeField(
    Type.Array(SourceName, { minItems: 1, maxItems: 1_000 }),
    'Facilities',
    'Ids of facilities.',
    ['e6799d64-d10d-4011-b8c2-0e4d4a3f65ce'],
  ),
  startDate: firstDayField('Requisitions initiated'),
  endDate: lastDayField('Requisitions initiated'),
}

/** OpenLMIS: the requisitions of facilities in a date range. */
export const openlmisVariant = definePipelineVariant(connectorTypes.openlmis, {
  requestFields: { apiSource: tokenAccess.requestSchema, ...openlmisFields },
  responseFields: { apiSource: tokenAccess.responseSchema, ...openlmisFields },
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

const sormasFields = {
  entities: describeField(
    listOfSome(Type.Enum([...outbreakEntities]), { min: 1, most: 17 }),
    'Content',
    'The kinds of records to load. Each becomes a table; nested lists become child tables.',
    ['CASES', 'CONTACTS'],
  ),
  startDate: Type.Optional(firstDayField('Records changed')),
}

/** SORMAS: outbreak surveillance. */
export const sormasVariant = definePipelineVariant(connectorTypes.sormas, {
  requestFields: { apiSource: loginAccess.requestSchema, ...sormasFields },
  responseFields: { apiSource: loginAccess.responseSchema, ...sormasFields },
})
