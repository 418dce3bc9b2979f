/**
 * Column vectors: the form of columnar sources, a column at a time, the rows of one batch. Row i of a column is null if
 * `nulls[i]` is not 0; the other arrays' values there are undefined.
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
  /** 0 or 1. */
  bits: Uint8Array
}

/** 64-bit integers, two's complement, in two halves: arithmetic on them makes no objects, as bigints would. */
export interface IntegerVector extends NullableVector {
  kind: 'integer'
  low: Int32Array
  high: Int32Array
}

/** Exact numbers: the integer times ten to the power of minus `scale`. */
export interface DecimalVector extends NullableVector {
  kind: 'decimal'
  low: Int32Array
  high: Int32Array
  /** Integers that do not fit into 64 bits, by row; they override the halves. Absent if all integers fit. */
  big?: Map<number, bigint>
  scale: number
}

/** `float`: the values have single precision, so their text has fewer digits than that of doubles. */
export interface FloatingVector extends NullableVector {
  kind: 'float' | 'double'
  values: Float64Array
}

export interface DateVector extends NullableVector {
  kind: 'date'
  /** Days since 1970-01-01. */
  days: Int32Array
}

/** Microseconds since 1970-01-01, in two halves; of the wall clock, or of UTC with `timestamptz`. */
export interface TimestampVector extends NullableVector {
  kind: 'timestamp' | 'timestamptz'
  low: Int32Array
  high: Int32Array
}

/** Valid UTF-8 without NUL; `json` is valid JSON that PostgreSQL accepts. The bytes are not copied. */
export interface BytesVector extends NullableVector {
  kind: 'text' | 'json'
  data: Uint8Array
  starts: Uint32Array
  lengths: Uint32Array
}

export type VectorKind = ColumnVector['kind']

const two32 = 4294967296

/** Returns a 64-bit integer as a number, or as a bigint if a number would round it. */
export function wholeOf(low: number, high: number): number | bigint {
  // 2^53 has 21 bits in the upper half.
  if (high >= -0x200000 && high < 0x200000) return high * two32 + (low >>> 0)
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

/** Returns the unscaled integer of a decimal. */
export function unscaledOf(vector: DecimalVector, row: number): number | bigint {
  return vector.big?.get(row) ?? wholeOf(vector.low[row]!, vector.high[row]!)
}

/** Returns a vector of `rows` rows with all arrays allocated, except `data` of a bytes vector, which the caller sets. */
export function emptyVector(kind: VectorKind, rows: number, scale = 0): ColumnVector {
  const nulls = new Uint8Array(rows)
  const halves = () => ({ low: new Int32Array(rows), high: new Int32Array(rows) })
  switch (kind) {
    case 'boolean':
      return { kind, nulls, bits: new Uint8Array(rows) }
    case 'integer':
      return { kind, nulls, ...halves() }
    case 'decimal':
      return { kind, nulls, ...halves(), scale }
    case 'float':
    case 'double':
      return { kind, nulls, values: new Float64Array(rows) }
    case 'date':
      return { kind, nulls, days: new Int32Array(rows) }
    case 'timestamp':
    case 'timestamptz':
      return { kind, nulls, ...halves() }
    case 'text':
    case 'json':
      return { kind, nulls, data: new Uint8Array(0), starts: new Uint32Array(rows), lengths: new Uint32Array(rows) }
  }
}
