import type { ProfilerModule } from './profiler-module.ts'

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
  address: number
  storedBytes: number
}

/** Tags and offsets of assembly/sample-rows.ts. */
const tags = { NOTHING: 0, KEY: 1 }
const rowHeaderBytes = 12

/**
 * Opens the sample of rows for reading column by column: each call of `nextColumn` returns the values of the next
 * column. Only the values of one column are then in memory.
 */
export function openSample({ sample, sampleEnd, sampledRows, rows }: ProfilerModule, bytes: Buffer) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const rowCount = sampledRows.value
  const isComplete = BigInt(rowCount) === rows.value
  /** For each row, the address of its next value. */
  const nextAddresses = new Uint32Array(rowCount)
  for (let row = 0, address = sample.value; address < sampleEnd.value; row++) {
    nextAddresses[row] = address + rowHeaderBytes
    address += view.getUint32(address, true)
  }
  const nextColumn = (): ColumnSample => {
    const keys = new BigInt64Array(rowCount)
    const texts: SampledText[] = []
    let keyCount = 0
    for (let row = 0; row < rowCount; row++) {
      const address = nextAddresses[row]!
      const tag = bytes[address]
      if (tag === tags.NOTHING) nextAddresses[row] = address + 1
      else if (tag === tags.KEY) {
        keys[keyCount++] = view.getBigInt64(address + 1, true)
        nextAddresses[row] = address + 9
      } else {
        const storedBytes = bytes[address + 13]!
        texts.push({
          length: view.getUint32(address + 1, true),
          hash: view.getBigUint64(address + 5, true),
          address: address + 14,
          storedBytes,
        })
        nextAddresses[row] = address + 14 + storedBytes
      }
    }
    return { isComplete, rows: rowCount, keys: keys.subarray(0, keyCount), texts }
  }
  return { nextColumn }
}
