import type { DataType } from '@sluice/contracts'
import type { RowCell, RowExport, RowTextFormat } from '../query-runner.ts'
import type { WarehouseColumn } from '../catalog.ts'

const exactNumbers = new Set<DataType>(['BIGINT', 'DECIMAL'])
const decimalTypes = new Set<DataType>(['DECIMAL', 'FLOAT', 'DOUBLE'])
const typesWithoutFormulas = new Set<DataType>([
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'DECIMAL',
  'FLOAT',
  'DOUBLE',
  'BOOLEAN',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMPTZ',
])

/**
 * Matches the characters with which Excel starts a formula, and those that it skips before one (OWASP, CSV Injection).
 */
export const formulaStart = /^[=+\-@\t\r]/

/** True if Excel could run values of this type as a formula. */
export const canBeFormula = (dataType: DataType): boolean => !typesWithoutFormulas.has(dataType)

/** True if values of this type have a decimal point, which EXCEL_CSV replaces by a comma. */
export const hasDecimalPoint = (dataType: DataType): boolean => decimalTypes.has(dataType)

/** The properties of a column that affect its text. */
type RowTextColumn = Pick<WarehouseColumn, 'name' | 'dataType'>

/** Returns the text before the first row: the line of column names, or nothing for NDJSON. */
export function rowTextHeader(columns: readonly RowTextColumn[], format: RowTextFormat): string {
  if (format === 'NDJSON') return ''
  if (format === 'CSV') return `${columns.map(({ name }) => quoteField(name, false)).join(',')}\r\n`
  const byteOrderMark = '\uFEFF'
  return `${byteOrderMark}${columns.map(({ name }) => quoteField(neutraliseFormula(name), true)).join(';')}\r\n`
}

/** Returns a function that formats a row with its line end. Used for warehouses that return values instead of text. */
export function rowTextWriter(
  columns: readonly RowTextColumn[],
  format: RowTextFormat,
): (row: readonly RowCell[]) => string {
  if (format === 'NDJSON') {
    const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`)
    return (row) =>
      `{${row.map((cell, index) => keys[index]! + jsonValue(cell, columns[index]!.dataType)).join(',')}}\n`
  }
  const isExcel = format === 'EXCEL_CSV'
  const separator = isExcel ? ';' : ','
  return (row) => `${row.map((cell, index) => csvField(cell, columns[index]!.dataType, isExcel)).join(separator)}\r\n`
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?$/

/**
 * Formats a value as JSON. A BIGINT or DECIMAL, which arrives as text, becomes a JSON number with all its digits. Other
 * text in such a column, for example NaN, stays a string.
 */
function jsonValue(cell: RowCell, dataType: DataType): string {
  if (typeof cell === 'string' && exactNumbers.has(dataType) && jsonNumber.test(cell)) return cell
  return JSON.stringify(cell)
}

/**
 * Formats a value as a CSV field. NULL becomes an empty field. For Excel, decimal numbers get a decimal comma, and text
 * that Excel could run as a formula is neutralised.
 */
function csvField(cell: RowCell, dataType: DataType, isExcel: boolean): string {
  if (cell === null) return ''
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  if (!isExcel) return quoteField(text, false)
  if (hasDecimalPoint(dataType)) return quoteField(text.replace('.', ','), true)
  return quoteField(canBeFormula(dataType) ? neutraliseFormula(text) : text, true)
}

/** Prefixes the text with an apostrophe, which Excel does not run, if it could be a formula. */
const neutraliseFormula = (text: string): string => (formulaStart.test(text) ? `'${text}` : text)

const needsCsvQuotes = /[,"\r\n]|^\s|\s$/
const needsExcelQuotes = /[;"\r\n]|^\s|\s$/

/**
 * Quotes a field if its content requires it. Also quotes an empty text, because an empty field means NULL, and `\.`,
 * which PostgreSQL reads as the end of the data.
 */
function quoteField(text: string, isExcel: boolean): string {
  const isSpecial = text === '' || text === '\\.'
  const needsQuotes = isSpecial || (isExcel ? needsExcelQuotes : needsCsvQuotes).test(text)
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
}

/** Matches JSON text that may contain a number which a double rounds or cannot represent. */
const mayLoseDigits = /[\d.]{16}|\d[eE]/

/** ECMAScript functions that TypeScript's types do not include yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}

/**
 * Parses a JSON value. A number that a double would round becomes an object that `JSON.stringify` writes with all
 * digits.
 */
export function parseJsonCell(text: string): RowCell {
  if (!mayLoseDigits.test(text)) return JSON.parse(text) as RowCell
  const keepDigits = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value
  }
  return JSON.parse(text, keepDigits) as RowCell
}

/** Returns the digits of an exact number from `parseJsonCell`, or undefined for any other value. */
export const exactNumberOf = (value: object): string | undefined =>
  isRawJSON(value) ? (value as { rawJSON: string }).rawJSON : undefined

const chunkLength = 64 * 1024

/**
 * Formats rows as UTF-8 text, for warehouses that return values instead of text. `bytes` yields the header as a
 * chunk of its own, and then the rows. `rowCount` returns the number of rows that have been formatted so far.
 */
export function writeRowText(
  batches: AsyncIterable<readonly (readonly RowCell[])[]>,
  columns: readonly RowTextColumn[],
  format: RowTextFormat,
): Pick<RowExport, 'bytes' | 'rowCount'> {
  const write = rowTextWriter(columns, format)
  let rowCount = 0
  async function* bytes() {
    const header = rowTextHeader(columns, format)
    if (header !== '') yield Buffer.from(header)
    for await (const rows of batches) {
      let text = ''
      for (const row of rows) {
        text += write(row)
        rowCount += 1
        if (text.length < chunkLength) continue
        yield Buffer.from(text)
        text = ''
      }
      if (text !== '') yield Buffer.from(text)
    }
  }
  return { bytes: bytes(), rowCount: () => rowCount }
}
