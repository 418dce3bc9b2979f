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

const delimiters: Record<string, string> = { PIPE: '|', COMMA: ',', TAB: '\t', SEMI_COLON: ';' }

/** Throws `InvalidSetting` for options that contradict each other. */
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
  if (comment !== undefined && comment === (delimiters[delimiter] ?? delimiter))
    throw refused('/comment', 'The comment character and the delimiter must differ.')
  if (headerRow === false && headerLines !== undefined)
    throw refused('/headerLines', 'headerLines needs a header row. Leave it out.')
  if (sheet !== undefined && sheetNumber !== undefined)
    throw refused('/sheetNumber', 'Choose the sheet by its name or by its number, not by both.')
  if (encoding !== undefined && !isEncoding(encoding))
    throw refused(
      '/encoding',
      `${encoding} is not a known encoding. Use utf-8, windows-1252 or another encoding label.`,
    )
  columns.forEach(assertColumn)
}

type CsvColumn = NonNullable<CsvOptions['columns']>[number]

function assertColumn(column: CsvColumn, index: number, all: readonly CsvColumn[]): void {
  const { label, index: place, name, dataType, precision, scale, dateFormat } = column
  const refuse = (detail: string) => refused(`/columns/${index}`, detail)
  if ((label === undefined) === (place === undefined))
    throw refuse('Name the column either by its label or by its index from 0.')
  if (all.findIndex((other) => other.label === label && other.index === place) < index)
    throw refuse('This column is listed twice.')
  const wrong = name === undefined ? undefined : identifierProblem(name)
  if (wrong) throw refused(`/columns/${index}/name`, wrong)
  if ((precision !== undefined || scale !== undefined) && dataType !== 'DECIMAL')
    throw refuse('A precision and a scale are for DECIMAL only.')
  if (scale !== undefined && (precision === undefined || scale > precision))
    throw refuse('A scale needs a precision that is at least as large.')
  if (dateFormat !== undefined && !['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'].includes(dataType ?? 'DATE'))
    throw refuse('A date format is for DATE, TIMESTAMP and TIMESTAMPTZ only.')
}

const refused = (pointer: string, detail: string) => new InvalidSetting(`/csvOptions${pointer}`, detail)

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}
