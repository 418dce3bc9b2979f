import { Type } from 'typebox'
import { exportFields } from './export-format.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import {
  SingleLineText,
  LongText,
  Timestamp,
  NonNegativeNumber,
  AnyNumber,
  NonNegativeInteger,
} from '../field-types.ts'

export const columnLimit = { maxItems: 1600 }

export const ColumnDescription = Type.String({ maxLength: 1_000 })

export const ForeignKey = defineContract(
  'ForeignKey',
  Type.Object(
    {
      column: SingleLineText,
      referencedSchema: SingleLineText,
      referencedTable: SingleLineText,
      referencedColumn: SingleLineText,
    },
    noUnknownFields,
  ),
)

export const Column = defineContract(
  'Column',
  Type.Object(
    {
      label: SingleLineText,
      name: SingleLineText,
      description: Type.Optional({
        ...ColumnDescription,
        description: 'The text that a user has written about the column. It stays when the table is loaded again.',
      }),
      tableAlias: Type.Optional({
        ...SingleLineText,
        description: 'The name of the table, which valueExpression uses as its alias. Absent in query results.',
      }),
      dataType: Type.Enum([...dataTypes]),
      primaryKey: Type.Boolean(),
      id: Type.Optional(Type.Boolean({ description: 'Whether the column is the whole primary key.' })),
      sortKey: Type.Optional(
        Type.Boolean({
          description: 'Whether the warehouse sorts the rows by this column, alone or with others.',
        }),
      ),
      deleted: Type.Optional(
        Type.Boolean({
          description: 'Whether the last load did not contain the column, which is therefore empty.',
        }),
      ),
      created: Type.Optional(Timestamp),
      sourceFormat: Type.Optional({
        ...SingleLineText,
        description:
          'The format in which the loaded files print all values of the column, such as DD.MM.YYYY or 0,00. Absent if they have several formats, if the column contains text, or if the table was not loaded from text. See docs/csv-files.md.',
        examples: ['DD.MM.YYYY'],
      }),
      length: Type.Optional(NonNegativeInteger),
      distinctValues: Type.Optional({
        ...NonNegativeInteger,
        description:
          'Estimated number of distinct values, usually within 7 % and at most the number of rows with a value.',
      }),
      nullValues: Type.Optional(NonNegativeInteger),
      minValue: Type.Optional({
        ...AnyNumber,
        description: 'Dates and times are in milliseconds since 1970-01-01T00:00:00Z.',
      }),
      maxValue: Type.Optional({ ...AnyNumber, description: 'See `minValue`.' }),
      valueExpression: Type.Optional({
        ...SingleLineText,
        description: 'The quoted column with its table, for use in a query of the table. Absent in query results.',
        examples: ['"cases"."region"'],
      }),
      dataTypeLabel: Type.Optional(SingleLineText),
    },
    noUnknownFields,
  ),
)

export type Column = TypeOf<typeof Column>

const tableFields = {
  schema: SingleLineText,
  name: SingleLineText,
  displayName: Type.Optional(SingleLineText),
  description: Type.Optional({
    ...LongText,
    description: 'The text that a user has written about the table; otherwise the description of its pipeline or view.',
  }),
  /** Bytes on disk. */
  size: NonNegativeInteger,
  rowCount: NonNegativeInteger,
  columnCount: NonNegativeInteger,
  sizeMb: NonNegativeNumber,
  sizePretty: SingleLineText,
  qualifiedTableName: SingleLineText,
  tableName: SingleLineText,
  columns: Type.Array(Column, columnLimit),
  foreignKeys: Type.Array(ForeignKey, columnLimit),
}

export const Table = defineContract('Table', Type.Object(tableFields, noUnknownFields))
export type Table = TypeOf<typeof Table>

export const TableSummary = defineContract(
  'TableSummary',
  Type.Object(
    {
      schema: SingleLineText,
      id: SingleLineText,
      name: SingleLineText,
      displayName: Type.Optional(SingleLineText),
      description: Type.Optional(LongText),
      size: NonNegativeInteger,
      sizeMb: NonNegativeNumber,
      rowCount: NonNegativeInteger,
      foreignKeys: Type.Array(ForeignKey, columnLimit),
    },
    noUnknownFields,
  ),
)

export type TableSummary = TypeOf<typeof TableSummary>

export const QueryResult = defineContract(
  'QueryResult',
  Type.Object(
    {
      ...tableFields,
      queryStartTime: Timestamp,
      /** The duration of the query in milliseconds. */
      queryDuration: NonNegativeNumber,
      rows: Type.Array(Type.Array(Type.Unknown(), columnLimit), { maxItems: 10_000 }),
      height: NonNegativeInteger,
      width: NonNegativeInteger,
    },
    noUnknownFields,
  ),
)

export type QueryResult = TypeOf<typeof QueryResult>

export const DataQuery = defineContract(
  'DataQuery',
  Type.Object(
    {
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      ...exportFields,
      sourceFormats: Type.Optional(
        Type.Boolean({
          description:
            'For csv and for a page: whether columns with a `sourceFormat` have their values as the loaded files print them. Default: false.',
        }),
      ),
    },
    noUnknownFields,
  ),
)

export type DataQuery = TypeOf<typeof DataQuery>
