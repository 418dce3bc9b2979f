import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Text } from '../named.ts'
import { csvOptionsInQuery, CsvGuesses } from './data-pipeline/csv-options.ts'
import { RejectedRow } from './run.ts'
import { QueryResult } from './table.ts'

/** The first rows of a source, and what they would become. */
export const SourcePreview = contract(
  'SourcePreview',
  Type.Object(
    {
      ...QueryResult.properties,
      complete: Type.Boolean({ description: 'Whether these are all rows that there are.' }),
      /** Rows among them that would be set aside. */
      rejected: Type.Array(RejectedRow, { maxItems: 100 }),
      /** How the source is understood, in sentences. */
      notes: Type.Array(Text, { maxItems: 100 }),
      /** Of a text file. */
      csvGuesses: Type.Optional(CsvGuesses),
    },
    closed,
  ),
)
export type SourcePreview = TypeOf<typeof SourcePreview>

export const FilePreviewQuery = contract(
  'FilePreviewQuery',
  Type.Object(
    {
      type: Type.Optional(Type.Enum(['CSV_UPLOAD', 'PARQUET_UPLOAD'], { description: 'CSV_UPLOAD when absent.' })),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: "The file's name." })),
      rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: '100 when absent.' })),
      ...csvOptionsInQuery,
    },
    closed,
  ),
)
export type FilePreviewQuery = TypeOf<typeof FilePreviewQuery>
