import { Type } from 'typebox'
import { anyAccess } from '../access.ts'
import { Day, field, listOfSome, Name } from '../field.ts'
import { connectorTypes } from '../systems.ts'
import { variant } from '../variant.ts'

export const dhis2Contents = ['DATA_VALUES', 'ANALYTICS', 'EVENTS', 'ORGANISATION_UNITS', 'METADATA'] as const

export const dhis2Metadata = [
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

const ids = (title: string, description: string, ...example: string[]) =>
  Type.Optional(field(listOfSome(Name), title, description, example))

const what = {
  content: field(
    Type.Enum([...dhis2Contents]),
    'What is loaded',
    'Reported data values, computed analytics, events of programs, the tree of organisation units, or other metadata.',
    'DATA_VALUES',
  ),
  dataSets: ids('Data sets', 'Of data values: by their ids. These or data elements.', 'BfMAe6Itzgt'),
  dataElements: ids(
    'Data elements and indicators',
    'Of data values: data elements. Of analytics: whatever stands in the dimension dx.',
    'f7n9E0hX8qk',
    'fbfJHSPpUQD',
  ),
  programs: ids('Programs', 'Of events: by their ids. Each stage becomes a table.', 'lxAQ7Zs9VYR'),
  metadata: Type.Optional(
    field(
      listOfSome(Type.Enum([...dhis2Metadata]), { most: 12 }),
      'Kinds of metadata',
      'Of metadata. Each becomes a table.',
      ['DATA_ELEMENTS'],
    ),
  ),
  orgUnits: ids(
    'Organisation units',
    'By their ids, with all that is below them. Of analytics also LEVEL-3, OU_GROUP-id or USER_ORGUNIT. Those of the account when absent.',
    'ImspTQPwCqd',
  ),
  periods: ids('Periods', 'As the system writes them: 202601, 2026Q1, LAST_12_MONTHS. These or days.', '202601'),
  startDate: Type.Optional(field(Day, 'First day', 'Instead of periods.', '2026-01-01')),
  endDate: Type.Optional(field(Day, 'Last day', 'Instead of periods; it counts.', '2026-12-31')),
  outputIdScheme: Type.Optional(
    field(
      Type.String({ maxLength: 60, pattern: '^(UID|CODE|NAME|ATTRIBUTE:[A-Za-z0-9]{11})$' }),
      'Ids as',
      'UID, CODE, NAME, or ATTRIBUTE: and the id of one; UID when absent.',
      'CODE',
    ),
  ),
}

/** DHIS2. */
export const dhis2 = variant(connectorTypes.dhis2, {
  given: { apiSource: anyAccess.given, ...what },
  answered: { apiSource: anyAccess.answered, ...what },
})
