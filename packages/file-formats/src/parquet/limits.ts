import type { ChunkLimits } from '../reader-thread-protocol.ts'
import { FileProblem } from './file-problems.ts'

/** Limits of the reader. Tests use tiny limits, so that every boundary is crossed. */
export interface ParquetLimits extends ChunkLimits {
  /** The number of rows that are decoded and encoded at a time. */
  batchRows: number
  footerBytes: number
  /** The maximum bytes of a decompressed page. DuckDB writes pages of up to 100 MB, other programs of 1 MB. */
  pageBytes: number
  /**
   * The maximum bytes in memory at the same time: decompressed pages and dictionaries of all columns, and the nested
   * values of one batch as JSON.
   */
  heldBytes: number
  /** The maximum ratio of decompressed to compressed bytes, and of rows to bytes of the file. */
  ratio: number
  /** The amounts up to which `ratio` does not apply. */
  ratioFrom: { bytes: number; rows: number }
  /** The bytes of encoded rows up to which `ratio` does not apply to them. Beyond, one value may occur in every row. */
  writtenFrom: number
  /** The time limit for a thread that sends nothing, in milliseconds. */
  silence: number
}

const bytesPerMebibyte = 1024 * 1024

export const defaultLimits: ParquetLimits = {
  chunkBytes: 512 * 1024,
  chunksInFlight: 4,
  batchRows: 1024,
  footerBytes: 32 * bytesPerMebibyte,
  pageBytes: 128 * bytesPerMebibyte,
  heldBytes: 256 * bytesPerMebibyte,
  ratio: 1000,
  ratioFrom: { bytes: 64 * bytesPerMebibyte, rows: 10_000_000 },
  writtenFrom: 1024 * bytesPerMebibyte,
  silence: 120_000,
}

/** The maximum nesting of groups. Files with deeper groups are rejected. */
export const maxDepth = 64

/** Limits the memory that a small malicious file can use. Every page must be admitted before it is decompressed. */
export class MemoryBudget {
  readonly #limits: ParquetLimits
  #compressed = 0
  #whole = 0
  #held = 0

  constructor(limits: ParquetLimits) {
    this.#limits = limits
  }

  /** Admits a page of `compressed` bytes before it is decompressed to `whole` bytes. Throws if it exceeds a limit. */
  admit(compressedBytes: number, uncompressedBytes: number): void {
    const { pageBytes, ratio, ratioFrom } = this.#limits
    if (!(uncompressedBytes >= 0)) throw new RangeError(`a page of ${uncompressedBytes} bytes`)
    if (uncompressedBytes > pageBytes) {
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `has a page of ${uncompressedBytes} bytes; up to ${pageBytes} are read. Write it with smaller pages.`,
      )
    }
    this.#compressed += compressedBytes
    this.#whole += uncompressedBytes
    if (this.#whole > ratioFrom.bytes + ratio * this.#compressed) {
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `grows to more than ${ratio} times its size. The file may be malicious: check where it comes from.`,
      )
    }
  }

  /** Adds bytes that are in memory while a column is read. A negative number releases them. */
  hold(bytes: number): void {
    this.#held += bytes
    if (this.#held <= this.#limits.heldBytes) return
    throw new FileProblem(
      'FILE_TOO_DENSE',
      `needs more than ${this.#limits.heldBytes} bytes of memory at a time. Write it with smaller pages or fewer columns.`,
    )
  }
}
