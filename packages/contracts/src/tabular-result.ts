import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from './contract.ts'
import { dataTypes } from './data-type.ts'
import { SingleLineText, AnyNumber } from './field-types.ts'

/** A column of a report: its label, its field name and the type of its values. */
export const ReportHeader = defineContract(
  'Header',
  Type.Object(
    {
      name: SingleLineText,
      column: SingleLineText,
      valueType: Type.Enum([...dataTypes]),
      /**
       * Whether the column is hidden. `rows` and `headers` contain hidden columns; `visibleRows` and `visibleHeaders`
       * do not.
       */
      hidden: Type.Boolean(),
      /** Whether the column identifies the subject of a row. Other columns describe the subject. */
      meta: Type.Boolean(),
    },
    noUnknownFields,
  ),
)
export type ReportHeader = TypeOf<typeof ReportHeader>

const ReportCell = Type.Unsafe<unknown>(
  Type.Union([
    Type.Null(),
    Type.Boolean(),
    AnyNumber,
    Type.String({ maxLength: 20_000 }),
    Type.Array(Type.Unknown(), { maxItems: 1000 }),
    Type.Object({}, { additionalProperties: true, maxProperties: 1000 }),
  ]),
)
const ReportRows = Type.Array(Type.Array(ReportCell, { maxItems: 100 }), { maxItems: 1000 })
const ReportCount = Type.Integer({ minimum: 0, maximum: 1000 })

/**
 * A page of a report. Values are JSON in the order of the headers: strings, numbers, booleans, null, and objects or
 * arrays if the header is JSONB; times are ISO 8601. `metaData.pager` contains the paging totals.
 */
export const TabularResult = defineContract(
  'TabularResult',
  Type.Object(
    {
      table: SingleLineText,
      title: SingleLineText,
      subtitle: SingleLineText,
      metaData: Type.Record(
        Type.String({ maxLength: 64 }),
        Type.Object({}, { additionalProperties: true, maxProperties: 20 }),
        { maxProperties: 20 },
      ),
      rows: ReportRows,
      visibleRows: ReportRows,
      /** The indexes, from 0, of the `headers` with `meta` true. */
      metaColumnIndexes: Type.Array(ReportCount, { uniqueItems: true, maxItems: 100 }),
      headers: Type.Array(ReportHeader, { maxItems: 100 }),
      visibleHeaders: Type.Array(ReportHeader, { maxItems: 100 }),
      height: ReportCount,
      /** The number of columns, including hidden ones. */
      width: ReportCount,
      visibleWidth: ReportCount,
    },
    noUnknownFields,
  ),
)
export type TabularResult = TypeOf<typeof TabularResult>
