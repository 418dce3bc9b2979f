import type { DataType } from '@sluice/contracts'
import { BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP, TIMESTAMPTZ } from './kinds.ts'
import { HUGE, maxPrecision, measured, numberKind } from './numbers.ts'
import { DOUBLED, ESCAPED, type RecordScanner } from './scan.ts'
import { timeKind } from './times.ts'

/** The type of a column; precision (digits in total) and scale (digits after the point) where it is DECIMAL. */
export interface ColumnType {
  dataType: DataType
  precision?: number
  scale?: number
}

const text: ColumnType = { dataType: 'TEXT' }
const integers = ['SMALLINT', 'INTEGER', 'BIGINT'] as const
const numbers = INTEGER | DECIMAL | DOUBLE
/** Digits before the point that a double always keeps. */
const doubleDigits = 15

/** Whether a set of kinds has no type but TEXT. */
const isText = Uint8Array.from({ length: 256 }, (_, kinds) => {
  const families = [BOOLEAN, numbers, DATE | TIMESTAMP, TIMESTAMPTZ]
  return families.some((family) => (kinds & ~family) === 0) ? 0 : 1
})

/** Widens the types of all columns over all rows. A column that can only be TEXT is not looked at again. */
export class TypeInference {
  readonly #kinds: Uint8Array
  readonly #rooms: Uint8Array
  readonly #integerDigits: Uint8Array
  readonly #scales: Uint8Array
  /** The columns that may still be something else than TEXT, in the first `#openCount` places. */
  readonly #open: Int32Array
  #openCount: number

  constructor(width: number) {
    this.#kinds = new Uint8Array(width)
    this.#rooms = new Uint8Array(width)
    this.#integerDigits = new Uint8Array(width)
    this.#scales = new Uint8Array(width)
    this.#open = Int32Array.from({ length: width }, (_, index) => index)
    this.#openCount = width
  }

  /** Takes the record in that the scanner stands on. Empty fields, quoted or not, say nothing about the type. */
  observe(bytes: Uint8Array, { starts, ends, marks }: RecordScanner): void {
    for (let place = this.#openCount - 1; place >= 0; place--) {
      const column = this.#open[place]!
      const from = starts[column]!
      const to = ends[column]!
      if (from === to) continue
      const kind = marks[column]! & (ESCAPED | DOUBLED) ? TEXT : kindOf(bytes, from, to)
      if (kind & numbers) this.#measure(column)
      const kinds = this.#kinds[column]! | kind
      this.#kinds[column] = kinds
      if (isText[kinds]) this.#open[place] = this.#open[--this.#openCount]!
    }
  }

  type(column: number): ColumnType {
    const kinds = this.#kinds[column]!
    if (kinds === 0 || isText[kinds]) return text
    if (kinds & BOOLEAN) return { dataType: 'BOOLEAN' }
    if (kinds & TIMESTAMPTZ) return { dataType: 'TIMESTAMPTZ' }
    if (kinds & TIMESTAMP) return { dataType: 'TIMESTAMP' }
    if (kinds & DATE) return { dataType: 'DATE' }
    return this.#numberType(column, kinds)
  }

  /** A DOUBLE must not touch an integer part that it cannot hold: such a mixture stays TEXT. */
  #numberType(column: number, kinds: number): ColumnType {
    const room = this.#rooms[column]!
    const scale = this.#scales[column]!
    const digits = this.#integerDigits[column]!
    if (kinds === INTEGER && room < HUGE) return { dataType: integers[room]! }
    if (!(kinds & DOUBLE) && digits + scale <= maxPrecision) {
      return { dataType: 'DECIMAL', precision: Math.min(Math.max(digits, 1) + scale, maxPrecision), scale }
    }
    return digits <= doubleDigits && kinds !== INTEGER ? { dataType: 'DOUBLE' } : text
  }

  #measure(column: number): void {
    if (measured.room > this.#rooms[column]!) this.#rooms[column] = measured.room
    if (measured.scale > this.#scales[column]!) this.#scales[column] = measured.scale
    if (measured.integerDigits > this.#integerDigits[column]!) this.#integerDigits[column] = measured.integerDigits
  }
}

function kindOf(bytes: Uint8Array, from: number, to: number): number {
  // Digits, minus and point come before the letters; no number has a minus at both of a date's places.
  if (bytes[from]! < 58) {
    const dashed = to - from >= 10 && bytes[from + 4] === 45 && bytes[from + 7] === 45
    return dashed ? timeKind(bytes, from, to) : numberKind(bytes, from, to)
  }
  return isBoolean(bytes, from, to) ? BOOLEAN : TEXT
}

function isBoolean(bytes: Uint8Array, from: number, to: number): boolean {
  const word = to - from === 4 ? 'true' : to - from === 5 ? 'false' : ''
  for (let i = 0; i < word.length; i++) if ((bytes[from + i]! | 32) !== word.charCodeAt(i)) return false
  return word !== ''
}
