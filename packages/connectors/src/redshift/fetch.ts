import type { Duplex } from 'node:stream'
import type { Connection, Submittable } from 'pg'

export interface FetchedRowHandler {
  /** Returns false if the caller must wait for `drained` before the next row. */
  take(row: readonly (string | null)[]): boolean
  drained(): Promise<void>
}

/** Passes on rows of a cursor as the server's texts, one by one: the driver keeps no rows, and the server waits for the consumer. */
export class FetchCommand implements Submittable {
  /** Resolves with the number of rows, once the consumer wants more. */
  readonly done: Promise<number>
  readonly #text: string
  readonly #taker: FetchedRowHandler
  readonly #settle = Promise.withResolvers<number>()
  #stream: Duplex | undefined
  #waiting: Promise<void> | undefined
  #rows = 0
  #failure: unknown

  constructor(text: string, taker: FetchedRowHandler) {
    this.#text = text
    this.#taker = taker
    this.done = this.#settle.promise
    this.done.catch(() => {})
  }

  submit(connection: Connection): void {
    this.#stream = connection.stream
    connection.query(this.#text)
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows++
    if (this.#failure !== undefined) return
    try {
      if (!this.#taker.take(fields)) this.#waiting ??= this.#wait()
    } catch (error) {
      this.#failure = error
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#settle.reject(error)
  }

  handleReadyForQuery(): void {
    if (this.#failure !== undefined) this.#settle.reject(this.#failure)
    else this.#settle.resolve(this.#waiting ? this.#waiting.then(() => this.#rows) : this.#rows)
  }

  async #wait(): Promise<void> {
    this.#stream?.pause()
    await this.#taker.drained()
    this.#waiting = undefined
    this.#stream?.resume()
  }
}
