/**
 * Column vectors, the data structure for columnar sources: the values of one column in one batch of rows. If `nulls[i]`
 * is not 0, row i is null, and its values in the other arrays are undefined.
 */
export type ColumnVector =
  | BooleanVector
  | IntegerVector
  | DecimalVector
  | FloatingVector
  | DateVector
  | TimestampVector
  | BytesVector

interface NullableVector {
  nulls: Uint8Array
}

export interface BooleanVector extends NullableVector {
  kind: 'boolean'
  /** The values, 0 or 1. */
  bits: Uint8Array
}

/**
 * 64-bit integers (two's complement), one for each row: the lower 32 bits in `low`, and the upper 32 bits in `high`.
 * Unlike bigints, arithmetic on these creates no objects.
 */
export interface IntegerVector extends NullableVector {
  kind: 'integer'
  low: Int32Array
  high: Int32Array
}

/** Exact decimals: each value is the integer times 10^-`scale`. */
export interface DecimalVector extends NullableVector {
  kind: 'decimal'
  low: Int32Array
  high: Int32Array
  /**
   * The integers that do not fit into 64 bits, by row. For such a row, `low` and `high` do not count. Absent if all
   * fit.
   */
  big?: Map<number, bigint>
  scale: number
}

/**
 * Floating-point numbers. With kind `float`, values have single precision, so their text has fewer digits than that of
 * doubles.
 */
export interface FloatingVector extends NullableVector {
  kind: 'float' | 'double'
  values: Float64Array
}

export interface DateVector extends NullableVector {
  kind: 'date'
  /** Days since 1970-01-01. */
  days: Int32Array
}

/** Microseconds since 1970-01-01 as in IntegerVector: of local time, or in UTC with `timestamptz`. */
export interface TimestampVector extends NullableVector {
  kind: 'timestamp' | 'timestamptz'
  low: Int32Array
  high: Int32Array
}

/** Texts in valid UTF-8 without NUL. With kind `json`, valid JSON that PostgreSQL accepts. The bytes are not copied. */
export interface BytesVector extends NullableVector {
  kind: 'text' | 'json'
  data: Uint8Array
  starts: Uint32Array
  lengths: Uint32Array
}

export type VectorKind = ColumnVector['kind']

const twoPow32 = 2 ** 32

/**
 * Returns the 64-bit integer with these lower and upper 32 bits: as a number, or as a bigint if a number would round
 * it.
 */
export function integerOfHalves(low: number, high: number): number | bigint {
  // Numbers are exact up to 2^53. The upper 32 bits are then below 2^21.
  const isExactNumber = high >= -(2 ** 21) && high < 2 ** 21
  if (isExactNumber) return high * twoPow32 + (low >>> 0)
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

/** Returns the unscaled integer of a decimal. */
export function unscaledInteger(vector: DecimalVector, row: number): number | bigint {
  return vector.big?.get(row) ?? integerOfHalves(vector.low[row]!, vector.high[row]!)
}

/**
 * Creates a vector for `rowCount` rows and allocates all its arrays, except `data` of a bytes vector, which the caller
 * sets.
 */
export function emptyVector(kind: VectorKind, rowCount: number, scale = 0): ColumnVector {
  const nulls = new Uint8Array(rowCount)
  const halves = () => ({ low: new Int32Array(rowCount), high: new Int32Array(rowCount) })
  switch (kind) {
    case 'boolean':
      return { kind, nulls, bits: new Uint8Array(rowCount) }
    case 'integer':
      return { kind, nulls, ...halves() }
    case 'decimal':
      return { kind, nulls, ...halves(), scale }
    case 'float':
    case 'double':
      return { kind, nulls, values: new Float64Array(rowCount) }
    case 'date':
      return { kind, nulls, days: new Int32Array(rowCount) }
    case 'timestamp':
    case 'timestamptz':
      return { kind, nulls, ...halves() }
    case 'text':
    case 'json':
      return {
        kind,
        nulls,
        data: new Uint8Array(0),
        starts: new Uint32Array(rowCount),
        lengths: new Uint32Array(rowCount),
      }
  }
}
