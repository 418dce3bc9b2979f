import { Type } from 'typebox'
import { anyAccess } from '../source-credentials.ts'
import { CalendarDate, describeField, listOfSome, SourceName } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const dhis2Contents = ['DATA_VALUES', 'ANALYTICS', 'EVENTS', 'ORGANISATION_UNITS', 'METADATA'] as const

const dhis2Metadata = [
  'DATA_SETS',
  'DATA_ELEMENTS',
  'DATA_ELEMENT_GROUPS',
  'INDICATORS',
  'INDICATOR_GROUPS',
  'PROGRAMS',
  'PROGRAM_STAGES',
  'ORGANISATION_UNITS',
  'ORGANISATION_UNIT_GROUPS',
  'ORGANISATION_UNIT_LEVELS',
  'CATEGORY_OPTION_COMBOS',
  'ATTRIBUTES',
] as const

const idListField = (title: string, description: string, ...example: string[]) =>
  Type.Optional(describeField(listOfSome(SourceName), title, description, example))

const dhis2Descriptions = {
  content: describeField(
    Type.Enum([...dhis2Contents]),
    'Content',
    'Reported data values, computed analytics, events of programs, the organisation unit hierarchy, or other metadata.',
    'DATA_VALUES',
  ),
  dataSets: idListField(
    'Data sets',
    'For data values: ids of data sets. Set either this or `dataElements`.',
    'BfMAe6Itzgt',
  ),
  dataElements: idListField(
    'Data elements and indicators',
    'For data values: ids of data elements. For analytics: items of the dimension dx.',
    'f7n9E0hX8qk',
    'fbfJHSPpUQD',
  ),
  programs: idListField('Programs', 'For events: ids of programs. Each stage becomes a table.', 'lxAQ7Zs9VYR'),
  metadata: Type.Optional(
    describeField(
      listOfSome(Type.Enum([...dhis2Metadata]), { most: 12 }),
      'Kinds of metadata',
      'For metadata: the kinds to load. Each kind becomes a table.',
      ['DATA_ELEMENTS'],
    ),
  ),
  orgUnits: idListField(
    'Organisation units',
    'Ids of organisation units, which include all units below. Analytics also accept LEVEL-3, OU_GROUP-id and USER_ORGUNIT. Default: the units of the account.',
    'ImspTQPwCqd',
  ),
  periods: idListField(
    'Periods',
    'Periods in the notation of DHIS2, such as 202601, 2026Q1 or LAST_12_MONTHS. Set either periods or the first and last day.',
    '202601',
  ),
  startDate: Type.Optional(
    describeField(CalendarDate, 'First day', 'If set, the list of periods is not used.', '2026-01-01'),
  ),
  endDate: Type.Optional(
    describeField(
      CalendarDate,
      'Last day',
      'If set, the list of periods is not used. The day is included.',
      '2026-12-31',
    ),
  ),
  outputIdScheme: Type.Optional(
    describeField(
      Type.String({ maxLength: 60, pattern: '^(UID|CODE|NAME|ATTRIBUTE:[A-Za-z0-9]{11})$' }),
      'Ids as',
      '`UID`, `CODE`, `NAME` or `ATTRIBUTE:<attribute id>`. Default: `UID`.',
      'CODE',
    ),
  ),
}

export const dhis2 = definePipelineVariant(connectorTypes.dhis2, {
  requestFields: { apiSource: anyAccess.requestSchema, ...dhis2Descriptions },
  responseFields: { apiSource: anyAccess.responseSchema, ...dhis2Descriptions },
})
