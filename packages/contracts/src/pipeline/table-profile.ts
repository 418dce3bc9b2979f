import { Type } from 'typebox'
import { defineContract, noUnknownFields, type TypeOf } from '../contract.ts'
import { NonNegativeInteger, SingleLineText, Timestamp, Uid } from '../field-types.ts'
import { columnLimit } from './table.ts'

/** A value as the warehouse prints it. */
const Value = Type.String({ maxLength: 255 })
const wholeLength = (value: string) => ({
  ...NonNegativeInteger,
  description: `The length of the whole value in bytes, if \`${value}\` is cut.`,
})

const FrequentValue = Type.Object(
  {
    value: { ...Value, description: 'Cut to 64 bytes.' },
    bytes: Type.Optional(wholeLength('value')),
    rows: {
      ...NonNegativeInteger,
      description: 'The number of rows with the value: exact, or an estimate if `atLeast` is present.',
    },
    atLeast: Type.Optional({ ...NonNegativeInteger, description: 'How many rows of the sample have the value.' }),
  },
  { ...noUnknownFields, title: 'FrequentValue' },
)

const Histogram = Type.Object(
  {
    bounds: Type.Array(Value, {
      maxItems: 21,
      description:
        'The bounds of buckets of equal width. Each bucket includes its lower bound and excludes its upper bound; the last bucket includes both.',
    }),
    rows: Type.Array(NonNegativeInteger, {
      maxItems: 20,
      description: 'The number of rows in each bucket. Their sum is the number of rows with a finite value.',
    }),
  },
  { ...noUnknownFields, title: 'Histogram' },
)

const ColumnProfile = Type.Object(
  {
    name: SingleLineText,
    nullValues: NonNegativeInteger,
    distinctValues: NonNegativeInteger,
    distinctIsEstimate: Type.Boolean({
      description:
        'Whether `distinctValues` is an estimate, usually within 7 %. It is exact for up to 64 distinct values.',
    }),
    minValue: Type.Optional({
      ...Value,
      description:
        'Texts are compared by their bytes, and cut to 64 bytes. JSONB columns have no smallest or largest value.',
    }),
    minBytes: Type.Optional(wholeLength('minValue')),
    maxValue: Type.Optional({ ...Value, description: 'See `minValue`.' }),
    maxBytes: Type.Optional(wholeLength('maxValue')),
    minLength: Type.Optional({ ...NonNegativeInteger, description: 'The length of the shortest text in characters.' }),
    maxLength: Type.Optional({ ...NonNegativeInteger, description: 'The length of the longest text in characters.' }),
    notFinite: Type.Optional({
      ...NonNegativeInteger,
      description: 'The number of rows with NaN or an infinite value. They are not in the histogram.',
    }),
    frequentValues: Type.Optional(
      Type.Array(FrequentValue, {
        maxItems: 10,
        description:
          'The most frequent values first. Values that occur once in the sample are left out. JSONB columns have no frequent values.',
      }),
    ),
    histogram: Type.Optional({ ...Histogram, description: 'Only in columns of numbers, dates and times.' }),
    sampledRows: Type.Optional({
      ...NonNegativeInteger,
      description:
        'The number of random rows from which frequent values and histogram are estimated. Absent if both are exact.',
    }),
  },
  { ...noUnknownFields, title: 'ColumnProfile' },
)

export const tableProfileNote =
  'The profile has values of the rows, so it needs the same permission as the rows. A load measures it while it reads the rows. Tables have none if the schema does not measure profiles (`profileTables`), if SQL statements of the pipeline changed the rows, and before their first load.'

export const TableProfile = defineContract(
  'TableProfile',
  Type.Object(
    {
      schema: SingleLineText,
      name: SingleLineText,
      scope: Type.Enum(['TABLE', 'LOAD'], {
        description:
          'TABLE: the profile describes all rows of the table. LOAD: the last load was incremental, and the profile describes the rows that it merged into the table.',
      }),
      rows: { ...NonNegativeInteger, description: 'The number of rows that were measured.' },
      measured: Timestamp,
      taskId: { ...Uid, description: 'The run that loaded the rows.' },
      columns: Type.Array(ColumnProfile, columnLimit),
    },
    noUnknownFields,
  ),
)

export type TableProfile = TypeOf<typeof TableProfile>
