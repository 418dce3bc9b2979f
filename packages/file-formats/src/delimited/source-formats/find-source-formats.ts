import { columnStateOf, dateFormatsByBit } from '../column-state.ts'
import type { ColumnType } from '../dialect/column-type.ts'
import type { DelimitedDialect } from '../dialect/dialect.ts'
import type { WasmScanner } from '../wasm-scanner.ts'

/** Positions in the state of a column, which assembly/record-source-formats.ts explains. */
const STATE = {
  VALUE_FLAGS: 16,
  DATE_FORMATS: 18,
  SHORTEST_INTEGER: 20,
  SCALE: 21,
  PADDED_WIDTH: 22,
  ZONE: 24,
  END: 32,
}

/** Flags of the values of a column, as in assembly/record-source-formats.ts. */
const VALUE = 1
const IRREGULAR = 2
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

/** A pair does not fit a column if the bit with its index + 1 is set in the flags. */
const booleanPairs = ['true|false', 't|f', 'yes|no', 'y|n', 'on|off', '1|0'] as const

/**
 * Returns for each column the format in which all values are printed in the text, such as `DD.MM.YYYY` or `0,00`. With
 * this format, `createValuePrinter` of ../../export/values-in-source-format.ts restores every value. An entry is
 * undefined if the values have several formats, and for columns without values, texts and doubles. Call it after the
 * values were written, and before the scanner is configured again. Values of rejected rows count too, if they fit their
 * columns.
 */
export const findSourceFormats = (
  wasm: WasmScanner,
  columns: readonly ColumnType[],
  { decimal }: DelimitedDialect,
): (string | undefined)[] =>
  columns.map((column, index) => findSourceFormat(columnStateOf(wasm, index), column, String.fromCharCode(decimal)))

/**
 * Returns the format in which all values of a column were printed. Returns undefined if the values have several formats
 * or the type has no formats.
 */
function findSourceFormat(state: Buffer, { dataType, evidence }: ColumnType, decimalSign: string): string | undefined {
  const flags = state.readUInt16LE(STATE.VALUE_FLAGS)
  switch (dataType) {
    case 'SMALLINT':
    case 'INTEGER':
    case 'BIGINT':
      // Inferred integers have only one format, so the scanner sets no flags for them.
      return evidence === 'REQUESTED' || flags !== 0 ? integerFormat(state, flags) : '0'
    case 'DECIMAL':
      return decimalFormat(state, flags, decimalSign)
    case 'BOOLEAN':
      return booleanFormat(flags)
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return timeFormat(state, flags)
    default:
      return undefined
  }
}

/**
 * Returns `0` for integers without leading zeros, and `000` for integers that are padded to three digits. Returns
 * undefined if the values have several formats, or if none exist.
 */
function integerFormat(state: Buffer, flags: number): string | undefined {
  if ((flags & VALUE) === 0 || (flags & IRREGULAR) !== 0) return undefined
  const paddedWidth = state[STATE.PADDED_WIDTH]!
  if (paddedWidth === 0) return '0'
  const shortestInteger = state[STATE.SHORTEST_INTEGER]!
  // The state has 20 minus the digits of the shortest integer without leading zeros, or 0 if no such integer exists.
  const unpaddedWidth = shortestInteger === 0 ? Infinity : 20 - shortestInteger
  return unpaddedWidth < paddedWidth ? undefined : '0'.repeat(paddedWidth)
}

/**
 * Returns a format such as `0.00` for two digits after the decimal sign, or `0.#` for as many as each value needs. `#`
 * before the sign means that values below 1 have no zero there. Returns undefined if the values have several formats,
 * or if none exist.
 */
function decimalFormat(state: Buffer, flags: number, decimalSign: string): string | undefined {
  if ((flags & VALUE) === 0 || (flags & IRREGULAR) !== 0) return undefined
  const hasBarePoint = (flags & BARE_POINT) !== 0
  if (hasBarePoint && (flags & ZERO_POINT) !== 0) return undefined
  const fraction = fractionFormat(state, flags, '0')
  if (fraction === undefined) return undefined
  return fraction === '' ? '0' : `${hasBarePoint ? '#' : '0'}${decimalSign}${fraction}`
}

/**
 * Returns `digit` once for each digit after the point if all values have equally many, or `#` for as many as each value
 * needs. Returns undefined if values with different numbers of digits end with a zero.
 */
function fractionFormat(state: Buffer, flags: number, digit: string): string | undefined {
  if ((flags & MIXED_SCALE) === 0) return digit.repeat(state[STATE.SCALE]! - 1)
  return (flags & TRAILING_ZERO) === 0 ? '#' : undefined
}

/** Returns the pair of words for true and false in their letter case, as in `Yes|No`, or undefined if several occur. */
function booleanFormat(flags: number): string | undefined {
  if ((flags & VALUE) === 0) return undefined
  const fitsAllValues = (pairIndex: number) => (flags & (1 << (pairIndex + 1))) === 0
  const pair = booleanPairs.find((_, index) => fitsAllValues(index))
  if (pair === undefined) return undefined
  if ((flags & NOT_LOWER) === 0) return pair
  if ((flags & NOT_UPPER) === 0) return pair.toUpperCase()
  return (flags & NOT_TITLE) === 0 ? pair.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()) : undefined
}

/**
 * Returns a format such as `DD.MM.YYYY` or `YYYY-MM-DDTHH:mm:ss.SSSZ`, or undefined if the values have several formats.
 */
function timeFormat(state: Buffer, flags: number): string | undefined {
  const has = (flag: number) => (flags & flag) !== 0
  const [dateFormat, ...otherDateFormats] = dateFormatsByBit.filter(
    (_, bit) => (state[STATE.DATE_FORMATS]! & (1 << bit)) !== 0,
  )
  const hasSeveralSeparators = has(T_BETWEEN) && has(SPACE_BETWEEN)
  const hasDatesAndTimes = has(DATE_ONLY) && (has(T_BETWEEN) || has(SPACE_BETWEEN))
  if (dateFormat === undefined || otherDateFormats.length > 0) return undefined
  if (hasSeveralSeparators || hasDatesAndTimes || has(MIXED_ZONES)) return undefined
  if (has(DATE_ONLY)) return dateFormat
  const formatToMinutes = `${dateFormat}${has(T_BETWEEN) ? 'T' : ' '}HH:mm`
  const zone = state.toString('latin1', STATE.ZONE, STATE.END).replaceAll('\0', '')
  if (!has(SECONDS)) return `${formatToMinutes}${zone}`
  const fraction = fractionFormat(state, flags, 'S')
  if (fraction === undefined || has(NO_SECONDS)) return undefined
  return fraction === '' ? `${formatToMinutes}:ss${zone}` : `${formatToMinutes}:ss.${fraction}${zone}`
}
