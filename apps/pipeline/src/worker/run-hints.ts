import { type ReaderAdvice, formatCount } from '@sluice/row-stream'

const maxKept = 20

/**
 * Logs and keeps the first 20 hints of a run, and counts the others, because a run can read 100,000 objects with hints
 * about each column.
 */
export class RunHints {
  /** The kept hints: each sentence with its advice. */
  readonly kept = new Map<string, ReaderAdvice>()
  readonly #log: (sentence: string) => void
  readonly #logged = new Set<string>()
  #omitted = 0

  constructor(log: (sentence: string) => void) {
    this.#log = log
  }

  add(sentence: string, advice: ReaderAdvice): void {
    if (this.kept.has(sentence)) return
    if (this.kept.size === maxKept) {
      this.#omitted++
      return
    }
    this.kept.set(sentence, advice)
    // Ignore a repeated hint: a source that is read again returns the same hints.
    if (this.#logged.has(sentence) || this.#logged.size === maxKept) return
    this.#logged.add(sentence)
    this.#log(sentence)
  }

  clear(): void {
    this.kept.clear()
    this.#omitted = 0
  }

  /** Logs the number of hints that were not kept, if there are any. Call it after the last row. */
  logOmitted(): void {
    if (this.#omitted > 0)
      this.#log(`${formatCount(this.#omitted, 'more hint')} ${this.#omitted === 1 ? 'is' : 'are'} not listed.`)
  }
}
