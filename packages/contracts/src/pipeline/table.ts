import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import { Line, Text, Timestamp, Amount, AnyNumber, Count } from '../field-types.ts'

const many = { maxItems: 1600 }

export const ForeignKey = contract(
  'ForeignKey',
  Type.Object({ column: Line, referencedSchema: Line, referencedTable: Line, referencedColumn: Line }, closed),
)

export const Column = contract(
  'Column',
  Type.Object(
    {
      label: Line,
      name: Line,
      tableAlias: Type.Optional({
        ...Line,
        description: 'The alias of the table in valueExpression: the name of the table. Absent in query results.',
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
      length: Type.Optional(Count),
      distinctValues: Type.Optional({
        ...Count,
        description:
          'Estimated number of distinct values, usually within 7 % and at most the number of rows with a value.',
      }),
      nullValues: Type.Optional(Count),
      minValue: Type.Optional({
        ...AnyNumber,
        description: 'Dates and times are in milliseconds since 1970-01-01T00:00:00Z.',
      }),
      maxValue: Type.Optional({ ...AnyNumber, description: 'As `minValue`.' }),
      valueExpression: Type.Optional({
        ...Line,
        description: 'The column in a query of the table, quoted for the warehouse. Absent in query results.',
        examples: ['"cases"."region"'],
      }),
      dataTypeLabel: Type.Optional(Line),
    },
    closed,
  ),
)
export type Column = TypeOf<typeof Column>

const table = {
  schema: Line,
  name: Line,
  displayName: Type.Optional(Line),
  description: Type.Optional(Text),
  /** Bytes on disk. */
  size: Count,
  rowCount: Count,
  columnCount: Count,
  sizeMb: Amount,
  sizePretty: Line,
  qualifiedTableName: Line,
  tableName: Line,
  columns: Type.Array(Column, many),
  foreignKeys: Type.Array(ForeignKey, many),
}

export const Table = contract('Table', Type.Object(table, closed))
export type Table = TypeOf<typeof Table>

export const TableSummary = contract(
  'TableSummary',
  Type.Object(
    {
      schema: Line,
      id: Line,
      name: Line,
      displayName: Type.Optional(Line),
      description: Type.Optional(Text),
      size: Count,
      sizeMb: Amount,
      rowCount: Count,
      foreignKeys: Type.Array(ForeignKey, many),
    },
    closed,
  ),
)
export type TableSummary = TypeOf<typeof TableSummary>

export const QueryResult = contract(
  'QueryResult',
  Type.Object(
    {
      ...table,
      queryStartTime: Timestamp,
      /** Milliseconds. */
      queryDuration: Amount,
      rows: Type.Array(Type.Array(Type.Unknown(), many), { maxItems: 10_000 }),
      height: Count,
      width: Count,
    },
    closed,
  ),
)
export type QueryResult = TypeOf<typeof QueryResult>

export const DataQuery = contract(
  'DataQuery',
  Type.Object(
    {
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    },
    closed,
  ),
)
export type DataQuery = TypeOf<typeof DataQuery>
