import type { connectorTypes, CsvOptions } from '@sluice/contracts'
import { identifierProblem } from '@sluice/row-stream'
import { type ConnectorDefinition, InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'

type CsvSettings = Pick<SourceOf<typeof connectorTypes.csvUpload>, 'csvOptions'>

export const csvUploadDefinition: ConnectorDefinition<'CSV_UPLOAD', CsvSettings> = {
  upload: { name: 'upload.csv', mediaType: 'text/csv' },
  assertSettings: ({ csvOptions = {} }) => assertCsvOptions(csvOptions),
  getSettings: ({ csvOptions }) => ({ csvOptions }),
  getResponseFields: ({ csvOptions }) => ({ csvOptions }),
}

export const parquetUploadDefinition: ConnectorDefinition<'PARQUET_UPLOAD', object> = {
  upload: { name: 'upload.parquet', mediaType: 'application/vnd.apache.parquet' },
  getSettings: () => ({}),
  getResponseFields: () => ({}),
}

const delimiterCharacters: Record<string, string> = { PIPE: '|', COMMA: ',', TAB: '\t', SEMI_COLON: ';' }

/** Throws `InvalidSetting` for CSV options that contradict each other. */
export function assertCsvOptions({
  delimiter = '',
  comment,
  headerRow,
  headerLines,
  encoding,
  sheet,
  sheetNumber,
  columns = [],
}: CsvOptions): void {
  if (comment !== undefined && comment === (delimiterCharacters[delimiter] ?? delimiter))
    throw invalidSetting('/comment', 'The comment character and the delimiter must differ.')
  if (headerRow === false && headerLines !== undefined)
    throw invalidSetting('/headerLines', 'headerLines requires a header row. Remove it, or set headerRow to true.')
  if (sheet !== undefined && sheetNumber !== undefined)
    throw invalidSetting('/sheetNumber', 'Select the sheet by its name or by its number, not by both.')
  if (encoding !== undefined && !isKnownEncoding(encoding))
    throw invalidSetting(
      '/encoding',
      `${encoding} is not a known encoding. Use utf-8, windows-1252 or another encoding label.`,
    )
  columns.forEach(assertColumn)
}

type CsvColumn = NonNullable<CsvOptions['columns']>[number]

function assertColumn(column: CsvColumn, index: number, columns: readonly CsvColumn[]): void {
  const { label, index: columnIndex, name, dataType, precision, scale, dateFormat } = column
  const refuse = (detail: string) => invalidSetting(`/columns/${index}`, detail)
  if ((label === undefined) === (columnIndex === undefined))
    throw refuse('Identify the column either by its label or by its index, which starts at 0.')
  if (columns.findIndex((other) => other.label === label && other.index === columnIndex) < index)
    throw refuse('This column is listed twice. Remove one of the entries.')
  const nameProblem = name === undefined ? undefined : identifierProblem(name)
  if (nameProblem) throw invalidSetting(`/columns/${index}/name`, nameProblem)
  if ((precision !== undefined || scale !== undefined) && dataType !== 'DECIMAL')
    throw refuse('Only columns of type DECIMAL have a precision and a scale. Remove them.')
  if (scale !== undefined && (precision === undefined || scale > precision))
    throw refuse('A scale requires a precision that is at least as large.')
  if (dateFormat !== undefined && !['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'].includes(dataType ?? 'DATE'))
    throw refuse('Only columns of type DATE, TIMESTAMP and TIMESTAMPTZ have a date format. Remove it.')
}

const invalidSetting = (pointer: string, detail: string) => new InvalidSetting(`/csvOptions${pointer}`, detail)

function isKnownEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}
