import type { ChunkLimits } from '../reader-thread-protocol.ts'
import { FileProblem } from './file-problems.ts'

/** Limits of the reader. Tests use tiny limits so that every boundary is crossed. */
export interface ParquetLimits extends ChunkLimits {
  /** Rows that are decoded and encoded at a time. */
  batchRows: number
  footerBytes: number
  /** Maximum bytes of one decompressed page. DuckDB writes pages of up to 100 MB, other writers of 1 MB. */
  pageBytes: number
  /** Bytes in memory at the same time: decompressed pages and dictionaries of all columns, and the nested values of one batch as JSON. */
  heldBytes: number
  /** Maximum ratio of decompressed to compressed bytes, and of rows to bytes of the file. */
  ratio: number
  /** Amounts that are accepted before `ratio` applies. */
  ratioFrom: { bytes: number; rows: number }
  /** Bytes of tuples that are accepted before `ratio` applies to them: one value may occur in every row. */
  writtenFrom: number
  /** Timeout of a silent thread, in milliseconds. */
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

/** Maximum nesting of groups; deeper groups are not read. */
export const maxDepth = 64

/** Limits the memory that a small file can use: every page is admitted before it is decompressed. */
export class MemoryBudget {
  readonly #limits: ParquetLimits
  #compressed = 0
  #whole = 0
  #held = 0

  constructor(limits: ParquetLimits) {
    this.#limits = limits
  }

  /** Admits a page of `compressed` bytes before it is decompressed to `whole` bytes. */
  admit(compressed: number, whole: number): void {
    const { pageBytes, ratio, ratioFrom } = this.#limits
    if (!(whole >= 0)) throw new RangeError(`a page of ${whole} bytes`)
    if (whole > pageBytes) {
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `has a page of ${whole} bytes; up to ${pageBytes} are read. Write it with smaller pages.`,
      )
    }
    this.#compressed += compressed
    this.#whole += whole
    if (this.#whole > ratioFrom.bytes + ratio * this.#compressed) {
      throw new FileProblem('FILE_TOO_DENSE', `grows to more than ${ratio} times its size. It may be built to do harm.`)
    }
  }

  /** Adds bytes that are held while a column is read; negative to release them. */
  hold(bytes: number): void {
    this.#held += bytes
    if (this.#held <= this.#limits.heldBytes) return
    throw new FileProblem(
      'FILE_TOO_DENSE',
      `needs more than ${this.#limits.heldBytes} bytes of memory at a time. Write it with smaller pages or fewer columns.`,
    )
  }
}
