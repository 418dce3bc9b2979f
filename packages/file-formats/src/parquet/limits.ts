import type { ChunkLimits } from '../reader-thread-protocol.ts'
import { FileProblem } from './file-problems.ts'

/** Limits of the reader. Tests use tiny limits, so that every boundary is crossed. */
export interface ParquetLimits extends ChunkLimits {
  /** The maximum rows that are decoded and encoded at a time. */
  maxBatchRows: number
  maxFooterBytes: number
  /** The maximum bytes of a decompressed page. DuckDB writes pages of up to 100 MB, other programs of 1 MB. */
  maxPageBytes: number
  /**
   * The maximum bytes in memory at the same time: decompressed pages and dictionaries of all columns, and the nested
   * values of one batch as JSON.
   */
  maxMemoryBytes: number
  /** The maximum ratio of decompressed to compressed bytes, and of rows to bytes of the file. */
  maxRatio: number
  /** `maxRatio` does not apply to the first `bytes` decompressed bytes and the first `rows` rows. */
  ratioExempt: { bytes: number; rows: number }
  /**
   * Encoded rows may have this many bytes, however small the file is: a dictionary stores a value once that occurs in
   * every row. More bytes are limited by `maxRatio`.
   */
  ratioExemptEncodedBytes: number
  /** The reading fails if the thread sends no message for this long. */
  idleTimeoutMs: number
}

const bytesPerMebibyte = 1024 * 1024

export const defaultLimits: ParquetLimits = {
  chunkBytes: 512 * 1024,
  chunksInFlight: 4,
  maxBatchRows: 1024,
  maxFooterBytes: 32 * bytesPerMebibyte,
  maxPageBytes: 128 * bytesPerMebibyte,
  maxMemoryBytes: 256 * bytesPerMebibyte,
  maxRatio: 1000,
  ratioExempt: { bytes: 64 * bytesPerMebibyte, rows: 10_000_000 },
  ratioExemptEncodedBytes: 1024 * bytesPerMebibyte,
  idleTimeoutMs: 120_000,
}

/** The maximum nesting of groups. Files with deeper groups are rejected. */
export const maxDepth = 64

/**
 * Limits the memory that a small malicious file can use. Call `admitPage` before a page is decompressed, and `reserve`
 * and `release` for the bytes that stay in memory.
 */
export class MemoryBudget {
  readonly #limits: ParquetLimits
  #compressedBytes = 0
  #uncompressedBytes = 0
  #reservedBytes = 0

  constructor(limits: ParquetLimits) {
    this.#limits = limits
  }

  /** Counts a page. Throws FileProblem if the page is too large, or if all pages until now exceed the maximum ratio. */
  admitPage(compressedBytes: number, uncompressedBytes: number): void {
    const { maxPageBytes, maxRatio, ratioExempt } = this.#limits
    if (!(uncompressedBytes >= 0)) throw new RangeError(`a page of ${uncompressedBytes} bytes`)
    if (uncompressedBytes > maxPageBytes) {
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `has a page of ${uncompressedBytes} bytes; up to ${maxPageBytes} are read. Write it with smaller pages.`,
      )
    }
    this.#compressedBytes += compressedBytes
    this.#uncompressedBytes += uncompressedBytes
    if (this.#uncompressedBytes > ratioExempt.bytes + maxRatio * this.#compressedBytes) {
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `grows to more than ${maxRatio} times its size. The file may be malicious: check where it comes from.`,
      )
    }
  }

  /** Counts bytes that are in memory from now on. Throws FileProblem if they exceed the limit. */
  reserve(bytes: number): void {
    this.#reservedBytes += bytes
    if (this.#reservedBytes <= this.#limits.maxMemoryBytes) return
    throw new FileProblem(
      'FILE_TOO_DENSE',
      `needs more than ${this.#limits.maxMemoryBytes} bytes of memory at a time. Write it with smaller pages or fewer columns.`,
    )
  }

  /** Stops counting bytes that were reserved. */
  release(bytes: number): void {
    this.#reservedBytes -= bytes
  }
}
