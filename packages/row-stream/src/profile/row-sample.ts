import type { MeasureModule } from './profiler-module.ts'

/**
 * The values of one column in the sample of rows, without nulls: sort keys for values of fixed size, addresses for
 * others.
 */
export interface ColumnSample {
  /** True if the sample contains all rows. */
  isComplete: boolean
  rows: number
  keys: BigInt64Array
  texts: SampledText[]
}

export interface SampledText {
  hash: bigint
  /** The full length of the value in bytes. */
  length: number
  /** The address of the stored bytes, and their number. */
  at: number
  kept: number
}

/** Tags and offsets of assembly/sample-rows.ts. */
const tags = { NOTHING: 0, KEY: 1 }
const rowHeadBytes = 12

/**
 * Opens the sample. Each call of `nextColumn` returns the values of the next column, so that only one column's values
 * are in memory.
 */
export function openSample({ sample, sampleEnd, sampledRows, rows }: MeasureModule, bytes: Buffer) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const count = sampledRows.value
  const isComplete = BigInt(count) === rows.value
  /** For each row, the address of its next value. */
  const places = new Uint32Array(count)
  for (let row = 0, at = sample.value; at < sampleEnd.value; row++) {
    places[row] = at + rowHeadBytes
    at += view.getUint32(at, true)
  }
  const nextColumn = (): ColumnSample => {
    const keys = new BigInt64Array(count)
    const texts: SampledText[] = []
    let found = 0
    for (let row = 0; row < count; row++) {
      const at = places[row]!
      const tag = bytes[at]
      if (tag === tags.NOTHING) places[row] = at + 1
      else if (tag === tags.KEY) {
        keys[found++] = view.getBigInt64(at + 1, true)
        places[row] = at + 9
      } else {
        const kept = bytes[at + 13]!
        texts.push({ length: view.getUint32(at + 1, true), hash: view.getBigUint64(at + 5, true), at: at + 14, kept })
        places[row] = at + 14 + kept
      }
    }
    return { isComplete, rows: count, keys: keys.subarray(0, found), texts }
  }
  return { nextColumn }
}
