import { FileWarning } from './file-problems.ts'
import type { ParquetLimits } from './limits.ts'

/** Keeps a small file from becoming a huge one in memory: every page is asked for before it is decompressed. */
export class MemoryBudget {
  readonly #limits: ParquetLimits
  #compressed = 0
  #whole = 0
  #held = 0

  constructor(limits: ParquetLimits) {
    this.#limits = limits
  }

  /** A page of so many bytes is about to be decompressed to so many. */
  admit(compressed: number, whole: number): void {
    const { pageBytes, ratio, ratioFrom } = this.#limits
    if (!(whole >= 0)) throw new RangeError(`a page of ${whole} bytes`)
    if (whole > pageBytes) {
      throw new FileWarning(
        'FILE_TOO_DENSE',
        `has a page of ${whole} bytes; up to ${pageBytes} are read. Write it with smaller pages.`,
      )
    }
    this.#compressed += compressed
    this.#whole += whole
    if (this.#whole > ratioFrom.bytes + ratio * this.#compressed) {
      throw new FileWarning('FILE_TOO_DENSE', `grows to more than ${ratio} times its size. It may be built to do harm.`)
    }
  }

  /** So many bytes more, or less, are kept while a column is read. */
  hold(bytes: number): void {
    this.#held += bytes
    if (this.#held <= this.#limits.heldBytes) return
    throw new FileWarning(
      'FILE_TOO_DENSE',
      `needs more than ${this.#limits.heldBytes} bytes of memory at a time. Write it with smaller pages or fewer columns.`,
    )
  }
}
