import { WarehouseProblem } from './warehouse.ts'

/** Milliseconds that somebody waits for a turn. */
const patience = 15_000

/** So many at once, the others one after the other as they came. */
export class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** Resolves to what gives the turn back. Throws WAREHOUSE_BUSY after a while, and the signal's reason when it aborts. */
  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    let back = false
    return {
      [Symbol.dispose]: () => {
        if (back) return
        back = true
        const next = this.#waiting.shift()
        if (next) next()
        else this.#free += 1
      },
    }
  }

  #wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (why: unknown) => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        settle()
        reject(why)
      }
      const abort = () => stop(signal!.reason)
      const timer = setTimeout(() => stop(busy()), patience)
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const turn = () => {
        settle()
        resolve()
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.push(turn)
    })
  }
}

function busy(): WarehouseProblem {
  const sentence = 'Many queries are running in this warehouse just now. Try again in a moment.'
  return new WarehouseProblem('WAREHOUSE_BUSY', sentence, { retryable: true })
}
