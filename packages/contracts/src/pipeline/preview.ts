import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { LongText, NonNegativeInteger } from '../field-types.ts'
import { csvOptionsInQuery, CsvGuesses } from './data-pipeline/csv-options.ts'
import { RejectedRow } from './run.ts'
import { QueryResult } from './table.ts'

const WorkbookSheet = Type.Object(
  {
    number: {
      ...NonNegativeInteger,
      description:
        'The position of the sheet, from 1, including hidden sheets. Send it as `sheetNumber` to read the sheet.',
    },
    name: Type.String({ maxLength: 255 }),
    hidden: Type.Boolean(),
    hasRows: Type.Boolean(),
    read: Type.Boolean({ description: 'Whether the rows are from this sheet.' }),
  },
  { ...noUnknownFields, title: 'PreviewSheet' },
)

export const SourcePreview = defineContract(
  'SourcePreview',
  Type.Object(
    {
      ...QueryResult.properties,
      complete: Type.Boolean({ description: 'Whether the preview contains all rows of the source.' }),
      /** The rows in the preview that a load would reject. */
      rejected: Type.Array(RejectedRow, { maxItems: 100 }),
      /** Sentences for users about how the source was read. */
      notes: Type.Array(LongText, { maxItems: 100 }),
      /** The detected options. Present only for a text file. */
      csvGuesses: Type.Optional(CsvGuesses),
      sheets: Type.Optional(
        Type.Array(WorkbookSheet, {
          maxItems: 1_000,
          description: 'For a workbook: its sheets that are not empty, in their order.',
        }),
      ),
    },
    noUnknownFields,
  ),
)
export type SourcePreview = TypeOf<typeof SourcePreview>

export const FilePreviewQuery = defineContract(
  'FilePreviewQuery',
  Type.Object(
    {
      type: Type.Optional(Type.Enum(['CSV_UPLOAD', 'PARQUET_UPLOAD'], { description: 'Default: CSV_UPLOAD.' })),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })),
      rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Default: 100.' })),
      ...csvOptionsInQuery,
    },
    noUnknownFields,
  ),
)
export type FilePreviewQuery = TypeOf<typeof FilePreviewQuery>
