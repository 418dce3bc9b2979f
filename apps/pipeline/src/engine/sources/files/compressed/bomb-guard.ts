import { SourceProblem } from '../../source.ts'
import type { UploadLimits } from '../spool/limits.ts'
import { tooLarge } from '../spool/spool-writer.ts'

/**
 * Counts what comes out of a decompressor against what went in, and ends it at the limits. The ratio is asked only from a
 * size on, since small files of one repeated line are packed very well and harm nobody.
 */
export class BombGuard {
  /** Packed bytes handed to the decompressor so far. */
  packed = 0
  unpacked = 0
  readonly #name: string
  readonly #limits: UploadLimits

  constructor(name: string, limits: UploadLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** Throws SourceProblem TOO_LARGE or SUSPICIOUS_ARCHIVE. */
  passed(bytes: number): void {
    const { spoolBytes, ratio, ratioFrom } = this.#limits
    this.unpacked += bytes
    if (this.unpacked > spoolBytes) throw tooLarge(this.#name, spoolBytes)
    if (this.unpacked <= ratioFrom || this.unpacked <= this.packed * ratio) return
    const text = `${this.#name} unpacks to more than ${ratio} times its size, as archives do that are made to fill a disk; upload it unpacked if it is meant so.`
    throw new SourceProblem('SUSPICIOUS_ARCHIVE', text)
  }
}
