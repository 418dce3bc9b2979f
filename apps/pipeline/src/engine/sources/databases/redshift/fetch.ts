import type { Connection, Submittable } from 'pg'

/** Rows of a cursor as the server's texts, each given to `take` as it comes: the driver keeps none. */
export class Fetch implements Submittable {
  /** How many rows came. */
  readonly done: Promise<number>
  readonly #text: string
  readonly #take: (row: readonly (string | null)[]) => void
  readonly #settle = Promise.withResolvers<number>()
  #rows = 0
  #failure: unknown

  constructor(text: string, take: (row: readonly (string | null)[]) => void) {
    this.#text = text
    this.#take = take
    this.done = this.#settle.promise
    this.done.catch(() => {})
  }

  submit(connection: Connection): void {
    connection.query(this.#text)
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.#rows++
    if (this.#failure !== undefined) return
    try {
      this.#take(fields)
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
    else this.#settle.resolve(this.#rows)
  }
}
