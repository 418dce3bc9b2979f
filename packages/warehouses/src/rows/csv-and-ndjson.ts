import type { DataType } from '@sluice/contracts'
import { quoteCsvField } from '@sluice/row-stream'
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

/** Excel recognises UTF-8 by this character at the start of a file. */
const byteOrderMark = '\uFEFF'

/** Returns the text before the first row: the line of column names, or nothing for NDJSON. */
export function rowTextHeader(columns: readonly RowTextColumn[], format: RowTextFormat): string {
  if (format === 'NDJSON') return ''
  const names = columns.map(({ name }) => name)
  if (format === 'CSV') return `${names.map((name) => quoteCsvField(name)).join(',')}\r\n`
  const fields = names.map((name) => quoteCsvField(neutraliseFormula(name), ';'))
  return `${byteOrderMark}${fields.join(';')}\r\n`
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
  if (!isExcel) return quoteCsvField(text)
  if (hasDecimalPoint(dataType)) return quoteCsvField(text.replace('.', ','), ';')
  return quoteCsvField(canBeFormula(dataType) ? neutraliseFormula(text) : text, ';')
}

/** Prefixes the text with an apostrophe, which Excel does not run, if it could be a formula. */
const neutraliseFormula = (text: string): string => (formulaStart.test(text) ? `'${text}` : text)

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
