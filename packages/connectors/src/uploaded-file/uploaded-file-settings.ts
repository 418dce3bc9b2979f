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
  const delimiterCharacter = delimiterCharacters[delimiter] ?? delimiter
  if (comment !== undefined && comment === delimiterCharacter)
    throw createCsvOptionError('/comment', 'The comment character and the delimiter must differ.')
  if (headerRow === false && headerLines !== undefined)
    throw createCsvOptionError(
      '/headerLines',
      'headerLines requires a header row. Remove it, or set headerRow to true.',
    )
  if (sheet !== undefined && sheetNumber !== undefined)
    throw createCsvOptionError('/sheetNumber', 'Select the sheet by its name or by its number, not by both.')
  if (encoding !== undefined && !isKnownEncoding(encoding))
    throw createCsvOptionError(
      '/encoding',
      `${encoding} is not a known encoding. Use utf-8, windows-1252 or another encoding label.`,
    )
  columns.forEach(assertColumn)
}

type CsvColumn = NonNullable<CsvOptions['columns']>[number]

/**
 * Throws `InvalidSetting` if the options of a column contradict each other, or name the same column as earlier ones.
 */
function assertColumn(column: CsvColumn, index: number, columns: readonly CsvColumn[]): void {
  const { label, index: columnIndex, name, dataType, precision, scale, dateFormat } = column
  const createColumnError = (detail: string) => createCsvOptionError(`/columns/${index}`, detail)
  const hasOneIdentifier = (label === undefined) !== (columnIndex === undefined)
  if (!hasOneIdentifier)
    throw createColumnError('Identify the column either by its label or by its index, which starts at 0.')
  const firstIndex = columns.findIndex((other) => other.label === label && other.index === columnIndex)
  if (firstIndex < index) throw createColumnError('This column is listed twice. Remove one of the entries.')
  const nameProblem = name === undefined ? undefined : identifierProblem(name)
  if (nameProblem) throw createCsvOptionError(`/columns/${index}/name`, nameProblem)
  const hasPrecisionOrScale = precision !== undefined || scale !== undefined
  if (hasPrecisionOrScale && dataType !== 'DECIMAL')
    throw createColumnError('Only columns of type DECIMAL have a precision and a scale. Remove them.')
  const isScaleTooLarge = scale !== undefined && (precision === undefined || scale > precision)
  if (isScaleTooLarge) throw createColumnError('A scale requires a precision that is at least as large.')
  const canBeDate = dataType === undefined || ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'].includes(dataType)
  if (dateFormat !== undefined && !canBeDate)
    throw createColumnError('Only columns of type DATE, TIMESTAMP and TIMESTAMPTZ have a date format. Remove it.')
}

const createCsvOptionError = (pointer: string, detail: string) => new InvalidSetting(`/csvOptions${pointer}`, detail)

function isKnownEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== ''
  } catch {
    return false
  }
}
