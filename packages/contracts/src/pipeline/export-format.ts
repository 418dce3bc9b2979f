import { Type } from 'typebox'
import { SingleLineText } from '../field-types.ts'

/** The formats of exported tables, with their media types. `json` contains one page; the others contain all rows. */
export const exportMediaTypes = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  arrow: 'application/vnd.apache.arrow.stream',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const

export type ExportFormat = keyof typeof exportMediaTypes

/** The media types of files. For equal preferences in the Accept header, the first one counts. */
export const exportFileTypes: readonly string[] = Object.values(exportMediaTypes).slice(1)

/** Returns the export format for a media type or for the text of `?format=`. */
export function findExportFormat(text: string): ExportFormat | undefined {
  const names = Object.keys(exportMediaTypes) as ExportFormat[]
  return names.find((name) => name === text || exportMediaTypes[name] === text)
}

/** Query parameters of operations that can return all rows as a file. */
export const exportFields = {
  format: Type.Optional({
    ...SingleLineText,
    description:
      'Returns all rows as a file: csv, ndjson, parquet, arrow or xlsx. json, the default, returns a page. Takes precedence over the Accept header.',
    examples: ['csv'],
  }),
  dialect: Type.Optional({
    ...Type.Enum(['rfc4180', 'excel']),
    description:
      'For csv: excel has a byte order mark, semicolons and decimal commas, and an apostrophe before texts that Excel would run as formulas.',
  }),
}
