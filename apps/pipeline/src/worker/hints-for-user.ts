import { type ReaderAdvice, formatCount } from '@sluice/row-stream'

const maxHints = 20

/**
 * The hints of a run. Logs and stores the first 20 of them. The others are only counted, because a run can read 100,000
 * objects with hints about each column.
 */
export class RunHints {
  /** The first hints: each sentence with its advice. */
  readonly shown = new Map<string, ReaderAdvice>()
  readonly #log: (sentence: string) => void
  readonly #logged = new Set<string>()
  #omitted = 0

  constructor(log: (sentence: string) => void) {
    this.#log = log
  }

  add(sentence: string, advice: ReaderAdvice): void {
    if (this.shown.has(sentence)) return
    if (this.shown.size === maxHints) {
      this.#omitted++
      return
    }
    this.shown.set(sentence, advice)
    // A source that is read again, after `clear`, returns the same hints. They are not logged again.
    if (this.#logged.has(sentence) || this.#logged.size === maxHints) return
    this.#logged.add(sentence)
    this.#log(sentence)
  }

  /** Removes all hints, because the source is read again. */
  clear(): void {
    this.shown.clear()
    this.#omitted = 0
  }

  /** Logs the number of hints that were only counted, if there are any. Call it after the last row. */
  logOmitted(): void {
    if (this.#omitted > 0)
      this.#log(`${formatCount(this.#omitted, 'more hint')} ${this.#omitted === 1 ? 'is' : 'are'} not listed.`)
  }
}
