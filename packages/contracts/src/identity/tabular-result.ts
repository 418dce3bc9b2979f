import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import { Line, AnyNumber } from '../field-types.ts'

/** A column of a report: its label, its field name and the type of its cells. */
export const Header = contract(
  'Header',
  Type.Object(
    {
      name: Line,
      column: Line,
      valueType: Type.Enum([...dataTypes]),
      /** Whether the column is hidden. `rows` and `headers` contain hidden columns; `visibleRows` and `visibleHeaders` do not. */
      hidden: Type.Boolean(),
      /** Whether the column identifies the subject of a row. Other columns describe the subject. */
      meta: Type.Boolean(),
    },
    closed,
  ),
)
export type Header = TypeOf<typeof Header>

const Cell = Type.Unsafe<unknown>(
  Type.Union([
    Type.Null(),
    Type.Boolean(),
    AnyNumber,
    Type.String({ maxLength: 20_000 }),
    Type.Array(Type.Unknown(), { maxItems: 1000 }),
    Type.Object({}, { additionalProperties: true, maxProperties: 1000 }),
  ]),
)
const Rows = Type.Array(Type.Array(Cell, { maxItems: 100 }), { maxItems: 1000 })
const Count = Type.Integer({ minimum: 0, maximum: 1000 })

/**
 * A page of a report. Cells are JSON values in the order of the headers: strings, numbers, booleans, null, and objects or
 * arrays if the header is JSONB; times are ISO 8601. `metaData.pager` contains the paging totals.
 */
export const TabularResult = contract(
  'TabularResult',
  Type.Object(
    {
      table: Line,
      title: Line,
      subtitle: Line,
      metaData: Type.Record(
        Type.String({ maxLength: 64 }),
        Type.Object({}, { additionalProperties: true, maxProperties: 20 }),
        { maxProperties: 20 },
      ),
      rows: Rows,
      visibleRows: Rows,
      /** The positions, from 0, of those `headers` that have `meta` true. */
      metaColumnIndexes: Type.Array(Count, { uniqueItems: true, maxItems: 100 }),
      headers: Type.Array(Header, { maxItems: 100 }),
      visibleHeaders: Type.Array(Header, { maxItems: 100 }),
      height: Count,
      /** Number of columns, including hidden ones. */
      width: Count,
      visibleWidth: Count,
    },
    closed,
  ),
)
export type TabularResult = TypeOf<typeof TabularResult>
