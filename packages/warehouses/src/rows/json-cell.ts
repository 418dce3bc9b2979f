import type { WarehouseColumn } from '../catalog.ts'
import type { RowCell } from '../query-runner.ts'

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

/** Parses the values of JSON columns that the server stores as text. */
export const parseJsonColumns = (row: RowCell[], columns: readonly WarehouseColumn[]): RowCell[] =>
  row.map((cell, index) => {
    const isJsonText = columns[index]!.dataType === 'JSONB' && typeof cell === 'string'
    return isJsonText ? parseJsonCell(cell) : cell
  })

/** Returns the approximate size of the row as JSON, in bytes. */
export function approximateJsonBytes(row: readonly RowCell[]): number {
  const bracketBytes = 2
  const quotesAndCommaBytes = 3
  const numberBytes = 8
  let bytes = bracketBytes
  for (const cell of row) {
    if (typeof cell === 'string') bytes += cell.length + quotesAndCommaBytes
    else if (typeof cell === 'object' && cell) bytes += JSON.stringify(cell).length
    else bytes += numberBytes
  }
  return bytes
}
