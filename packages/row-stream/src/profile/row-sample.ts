import type { ProfilerModule } from './wasm-profiler.ts'

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

/** The tags of assembly/sample-rows.ts before each value. */
const tags = { NOTHING: 0, KEY: 1 }
/** The bytes of a row before its values: its size in bytes (4 bytes) and its random key. */
const rowHeaderBytes = 12
/** The offsets of a key after its tag, and of its end. */
const keyOffsets = { key: 1, end: 9 }
/** The offsets of a text or numeric after its tag. */
const textOffsets = { length: 1, hash: 5, storedLength: 13, storedBytes: 14 }

/**
 * Opens the sample of rows for reading column by column: each call of `nextColumn` returns the values of the next
 * column. Only the values of one column are then in memory.
 */
export function openSample({ sample, sampleEnd, sampledRows, rows }: ProfilerModule, bytes: Buffer) {
  const rowCount = sampledRows.value
  const isComplete = BigInt(rowCount) === rows.value
  const nextAddresses = listFirstValues(bytes, sample.value, sampleEnd.value, rowCount)
  const nextColumn = (): ColumnSample => {
    const keys = new BigInt64Array(rowCount)
    const texts: SampledText[] = []
    let keyCount = 0
    for (let row = 0; row < rowCount; row++) {
      const address = nextAddresses[row]!
      const tag = bytes[address]
      if (tag === tags.NOTHING) nextAddresses[row] = address + 1
      else if (tag === tags.KEY) {
        keys[keyCount++] = bytes.readBigInt64LE(address + keyOffsets.key)
        nextAddresses[row] = address + keyOffsets.end
      } else {
        const text = readSampledText(bytes, address)
        texts.push(text)
        nextAddresses[row] = text.address + text.storedBytes
      }
    }
    return { isComplete, rows: rowCount, keys: keys.subarray(0, keyCount), texts }
  }
  return { nextColumn }
}

/** Returns the address of the first value of each row. */
function listFirstValues(bytes: Buffer, start: number, end: number, rowCount: number): Uint32Array {
  const addresses = new Uint32Array(rowCount)
  let rowAddress = start
  for (let row = 0; rowAddress < end; row++) {
    addresses[row] = rowAddress + rowHeaderBytes
    const rowBytes = bytes.readUInt32LE(rowAddress)
    rowAddress += rowBytes
  }
  return addresses
}

/** Reads the text or numeric that starts with a tag at `address`. */
const readSampledText = (bytes: Buffer, address: number): SampledText => ({
  length: bytes.readUInt32LE(address + textOffsets.length),
  hash: bytes.readBigUInt64LE(address + textOffsets.hash),
  address: address + textOffsets.storedBytes,
  storedBytes: bytes[address + textOffsets.storedLength]!,
})
