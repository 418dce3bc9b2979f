import {
  type BooleanVector,
  type BytesVector,
  type ColumnProfile,
  type ColumnVector,
  type DateVector,
  type DecimalVector,
  emptyVector,
  type FloatingVector,
  unscaledOf,
  vectorText,
} from '@sluice/row-stream'

/** The profile of one column, as far as it can be measured in one pass. */
export type MeasuredColumn = Omit<ColumnProfile, 'column' | 'distinct'>

const shownCharacters = 200
/** Number of bytes that are compared; longer texts with the same start count as equal. */
const comparedBytes = 4 * shownCharacters

/** Smallest and largest value, nulls and the longest text of a column, updated row by row. */
export class ColumnMeasure {
  readonly #kind: ColumnVector['kind']
  #nulls = 0
  #smallest: ColumnVector | undefined
  #largest: ColumnVector | undefined
  #longest = 0

  constructor(kind: ColumnVector['kind']) {
    this.#kind = kind
  }

  observe(vector: ColumnVector, from: number, to: number): void {
    const { nulls } = vector
    for (let row = from; row < to; row++) if (nulls[row]) this.#nulls++
    if (vector.kind === 'json') return
    const compare = comparisonsByKind[vector.kind] as ValueComparison
    const extremeRows = findExtremeRows(vector, from, to, compare)
    if (vector.kind === 'text') this.#length(vector, from, to)
    if (!extremeRows) return
    const [smallest, largest] = extremeRows
    if (!this.#smallest || compare(vector, smallest, this.#smallest, 0) < 0)
      this.#smallest = copyValue(vector, smallest)
    if (!this.#largest || compare(vector, largest, this.#largest, 0) > 0) this.#largest = copyValue(vector, largest)
  }

  result(): MeasuredColumn {
    const textOf = (vector: ColumnVector) => Array.from(vectorText(vector, 0)).slice(0, shownCharacters).join('')
    return {
      nulls: this.#nulls,
      ...(this.#smallest && { min: textOf(this.#smallest) }),
      ...(this.#largest && { max: textOf(this.#largest) }),
      ...(this.#kind === 'text' && this.#smallest && { maxLength: this.#longest }),
    }
  }

  /** Updates the maximum length. A text has at most as many characters as bytes, so only few texts are counted. */
  #length({ nulls, data, starts, lengths }: BytesVector, from: number, to: number): void {
    for (let row = from; row < to; row++) {
      if (nulls[row] || lengths[row]! <= this.#longest) continue
      let characters = 0
      for (let position = starts[row]!, end = position + lengths[row]!; position < end; position++)
        if ((data[position]! & 0xc0) !== 0x80) characters++
      this.#longest = Math.max(this.#longest, characters)
    }
  }
}

type ValueComparison = (one: ColumnVector, row: number, other: ColumnVector, otherRow: number) => number
type CompareOf<Vector> = (one: Vector, row: number, other: Vector, otherRow: number) => number

interface HalvedValue {
  low: Int32Array
  high: Int32Array
}

const compareHalves = (one: HalvedValue, row: number, other: HalvedValue, otherRow: number) =>
  one.high[row]! - other.high[otherRow]! || (one.low[row]! >>> 0) - (other.low[otherRow]! >>> 0)

/** NaN is the largest value, as in PostgreSQL. */
const compareFloats: CompareOf<FloatingVector> = (one, row, other, otherRow) => {
  const [a, b] = [one.values[row]!, other.values[otherRow]!]
  if (a < b || (b !== b && a === a)) return -1
  return a > b || (a !== a && b === b) ? 1 : 0
}

const compareDecimals: CompareOf<DecimalVector> = (one, row, other, otherRow) => {
  if (!one.big?.size && !other.big?.size) return compareHalves(one, row, other, otherRow)
  const [a, b] = [unscaledOf(one, row), unscaledOf(other, otherRow)]
  return a < b ? -1 : a > b ? 1 : 0
}

/** Compares bytes, which gives the order of code points. */
const compareTexts: CompareOf<BytesVector> = (one, row, other, otherRow) => {
  const from = one.starts[row]!
  const otherFrom = other.starts[otherRow]!
  const shared = Math.min(one.lengths[row]!, other.lengths[otherRow]!, comparedBytes)
  for (let i = 0; i < shared; i++) {
    const difference = one.data[from + i]! - other.data[otherFrom + i]!
    if (difference !== 0) return difference
  }
  return shared === comparedBytes ? 0 : one.lengths[row]! - other.lengths[otherRow]!
}

const comparisonsByKind = {
  boolean: ((one, row, other, otherRow) => one.bits[row]! - other.bits[otherRow]!) as CompareOf<BooleanVector>,
  integer: compareHalves,
  decimal: compareDecimals,
  float: compareFloats,
  double: compareFloats,
  date: ((one, row, other, otherRow) => one.days[row]! - other.days[otherRow]!) as CompareOf<DateVector>,
  timestamp: compareHalves,
  timestamptz: compareHalves,
  text: compareTexts,
}

/**
 * Returns the rows of the smallest and largest value; undefined if all are null. Numbers, the most frequent type, need no
 * call per value.
 */
function findExtremeRows(
  vector: ColumnVector,
  from: number,
  to: number,
  compare: ValueComparison,
): [number, number] | undefined {
  const { nulls } = vector
  let first = from
  while (first < to && nulls[first]) first++
  if (first === to) return undefined
  if ('low' in vector && !(vector.kind === 'decimal' && vector.big?.size)) return ofHalves(vector, nulls, first, to)
  if ('days' in vector) return ofNumbers(vector.days, nulls, first, to)
  let smallest = first
  let largest = first
  for (let row = first + 1; row < to; row++) {
    if (nulls[row]) continue
    if (compare(vector, row, vector, smallest) < 0) smallest = row
    else if (compare(vector, row, vector, largest) > 0) largest = row
  }
  return [smallest, largest]
}

function ofHalves({ low, high }: HalvedValue, nulls: Uint8Array, first: number, to: number): [number, number] {
  let [smallest, largest] = [first, first]
  let [lowestHigh, lowestLow] = [high[first]!, low[first]! >>> 0]
  let [highestHigh, highestLow] = [lowestHigh, lowestLow]
  for (let row = first + 1; row < to; row++) {
    if (nulls[row]) continue
    const upper = high[row]!
    const lower = low[row]! >>> 0
    if (upper < lowestHigh || (upper === lowestHigh && lower < lowestLow)) {
      smallest = row
      lowestHigh = upper
      lowestLow = lower
    } else if (upper > highestHigh || (upper === highestHigh && lower > highestLow)) {
      largest = row
      highestHigh = upper
      highestLow = lower
    }
  }
  return [smallest, largest]
}

function ofNumbers(values: Int32Array, nulls: Uint8Array, first: number, to: number): [number, number] {
  let [smallest, largest] = [first, first]
  for (let row = first + 1; row < to; row++) {
    if (nulls[row]) continue
    if (values[row]! < values[smallest]!) smallest = row
    else if (values[row]! > values[largest]!) largest = row
  }
  return [smallest, largest]
}

/** Copies one value into a vector of its own, which stays valid when the original is reused. */
function copyValue(vector: ColumnVector, row: number): ColumnVector {
  const copy = emptyVector(vector.kind, 1, vector.kind === 'decimal' ? vector.scale : 0)
  if ('low' in copy && 'low' in vector) {
    copy.low[0] = vector.low[row]!
    copy.high[0] = vector.high[row]!
  }
  if (copy.kind === 'decimal' && vector.kind === 'decimal') {
    const big = vector.big?.get(row)
    if (big !== undefined) copy.big = new Map([[0, big]])
  }
  if ('values' in copy && 'values' in vector) copy.values[0] = vector.values[row]!
  if ('bits' in copy && 'bits' in vector) copy.bits[0] = vector.bits[row]!
  if ('days' in copy && 'days' in vector) copy.days[0] = vector.days[row]!
  if ('data' in copy && 'data' in vector) {
    const start = vector.starts[row]!
    copy.lengths[0] = Math.min(vector.lengths[row]!, comparedBytes)
    copy.data = vector.data.slice(start, start + copy.lengths[0])
  }
  return copy
}
