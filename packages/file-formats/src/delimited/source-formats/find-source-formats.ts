import { columnStateOf, dateSpellings } from '../column-state.ts'
import type { ColumnType } from '../dialect/column-type.ts'
import type { DelimitedDialect } from '../dialect/dialect.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** Positions in the state of a column, which assembly/source-formats.ts explains. */
const STATE = { MARKS: 16, DATE_SPELLINGS: 18, SHORTEST_INTEGER: 20, SCALE: 21, PADDED_WIDTH: 22, ZONE: 24, END: 32 }

/** Marks of a column, as in assembly/source-formats.ts. */
const VALUE = 1
const OTHER = 2
const MIXED_SCALE = 4
const TRAILING_ZERO = 8
const BARE_POINT = 16
const ZERO_POINT = 32
const DATE_ONLY = 64
const T_BETWEEN = 128
const SPACE_BETWEEN = 256
const NO_SECONDS = 512
const SECONDS = 1024
const MIXED_ZONES = 2048
const NOT_LOWER = 0x80
const NOT_UPPER = 0x100
const NOT_TITLE = 0x200

const booleanPairs = ['true|false', 't|f', 'yes|no', 'y|n', 'on|off', '1|0'] as const

/**
 * Returns for each column the format in which all values are printed in the text, such as `DD.MM.YYYY` or `0,00`: the
 * format in which `createValuePrinter` of ../../export/values-in-source-format.ts restores every value. Undefined if the values
 * have several formats, and for columns without values, texts and doubles. Call it after the values were written, and
 * before the scanner is configured again. Values of rejected rows count too, if they fit their columns.
 */
export const findSourceFormats = (
  wasm: WasmScanner,
  columns: readonly ColumnType[],
  { decimal }: DelimitedDialect,
): (string | undefined)[] =>
  columns.map((column, index) => findSourceFormat(columnStateOf(wasm, index), column, String.fromCharCode(decimal)))

/**
 * Returns the format in which all values of a column were printed, or undefined if they differ or the type has no formats.
 */
function findSourceFormat(state: Buffer, { dataType, evidence }: ColumnType, decimalSign: string): string | undefined {
  const marks = state.readUInt16LE(STATE.MARKS)
  switch (dataType) {
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
      // Inferred integers have one format, and leave no marks.
      return evidence === 'REQUESTED' || marks !== 0 ? integerFormat(state, marks) : '0'
    case 'DECIMAL':
      return decimalFormat(state, marks, decimalSign)
    case 'BOOLEAN':
      return booleanFormat(marks)
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return timeFormat(state, marks)
    default:
      return undefined
  }
}

function integerFormat(state: Buffer, marks: number): string | undefined {
  if ((marks & VALUE) === 0 || (marks & OTHER) !== 0) return undefined
  const paddedWidth = state[STATE.PADDED_WIDTH]!
  const shortestInteger = state[STATE.SHORTEST_INTEGER]!
  const unpaddedWidth = shortestInteger === 0 ? Infinity : 20 - shortestInteger
  if (paddedWidth === 0) return '0'
  return unpaddedWidth < paddedWidth ? undefined : '0'.repeat(paddedWidth)
}

function decimalFormat(state: Buffer, marks: number, decimalSign: string): string | undefined {
  if ((marks & VALUE) === 0 || (marks & OTHER) !== 0) return undefined
  if ((marks & BARE_POINT) !== 0 && (marks & ZERO_POINT) !== 0) return undefined
  const fraction = fractionFormat(state, marks, '0')
  if (fraction === undefined) return undefined
  return fraction === '' ? '0' : `${(marks & BARE_POINT) === 0 ? '0' : '#'}${decimalSign}${fraction}`
}

/** Returns a digit for each digit after the point, or `#` for as many as the value needs. */
function fractionFormat(state: Buffer, marks: number, digit: string): string | undefined {
  if ((marks & MIXED_SCALE) === 0) return digit.repeat(state[STATE.SCALE]! - 1)
  return (marks & TRAILING_ZERO) === 0 ? '#' : undefined
}

function booleanFormat(marks: number): string | undefined {
  if ((marks & VALUE) === 0) return undefined
  const pair = booleanPairs.find((_, index) => (marks & (2 << index)) === 0)
  if (pair === undefined) return undefined
  if ((marks & NOT_LOWER) === 0) return pair
  if ((marks & NOT_UPPER) === 0) return pair.toUpperCase()
  return (marks & NOT_TITLE) === 0 ? pair.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()) : undefined
}

function timeFormat(state: Buffer, marks: number): string | undefined {
  const fittingSpellings = dateSpellings.filter((_, index) => (state[STATE.DATE_SPELLINGS]! & (1 << index)) !== 0)
  const [dateForm] = fittingSpellings
  const hasBoth = (mark: number, otherMark: number) => (marks & mark) !== 0 && (marks & otherMark) !== 0
  if (dateForm === undefined || fittingSpellings.length > 1 || (marks & MIXED_ZONES) !== 0) return undefined
  if (hasBoth(DATE_ONLY, T_BETWEEN | SPACE_BETWEEN) || hasBoth(T_BETWEEN, SPACE_BETWEEN)) return undefined
  if ((marks & DATE_ONLY) !== 0) return dateForm
  const zone = state.toString('latin1', STATE.ZONE, STATE.END).replaceAll('\0', '')
  const minuteForm = `${dateForm}${(marks & T_BETWEEN) === 0 ? ' ' : 'T'}HH:mm`
  if ((marks & SECONDS) === 0) return `${minuteForm}${zone}`
  const fraction = fractionFormat(state, marks, 'S')
  if (fraction === undefined || (marks & NO_SECONDS) !== 0) return undefined
  return `${minuteForm}:ss${fraction && `.${fraction}`}${zone}`
}
