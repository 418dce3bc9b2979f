import { FileWarning } from './file-problems.ts'
import type { ParquetLimits } from './limits.ts'

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

  /** Adds bytes that are held while a column is read; negative to release them. */
  hold(bytes: number): void {
    this.#held += bytes
    if (this.#held <= this.#limits.heldBytes) return
    throw new FileWarning(
      'FILE_TOO_DENSE',
      `needs more than ${this.#limits.heldBytes} bytes of memory at a time. Write it with smaller pages or fewer columns.`,
    )
  }
}
