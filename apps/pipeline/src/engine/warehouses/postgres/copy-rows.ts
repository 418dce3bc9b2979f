import { escapeIdentifier, type Connection, type PoolClient, type Submittable } from 'pg'
import type { TupleChunk } from '../warehouse.ts'

/** Bytes of the header of the binary format, before the first row. */
const headerBytes = 19

/** Bytes of rows that are held before the connection is paused. */
const mostBytes = 1024 ** 2

/**
 * Yields the rows of a table as the open transaction of `client` sees them, in the binary format of COPY without its header and trailer.
 * `table` is quoted and qualified. A consumer that stops early has to close the connection.
 */
export async function* readTuples(
  client: PoolClient,
  table: string,
  columns: readonly string[],
): AsyncGenerator<TupleChunk> {
  const list = columns.map((name) => escapeIdentifier(name)).join(', ')
  const copy = client.query(new CopyRows(`copy ${table} (${list}) to stdout (format binary)`))
  for (let bytes = await copy.next(); bytes; bytes = await copy.next()) yield { bytes }
}

/** COPY … TO STDOUT, as node-postgres runs a query. The server sends each row as one message. */
class CopyRows implements Submittable {
  readonly #text: string
  #connection: Connection | undefined
  #held: Buffer[] = []
  #heldBytes = 0
  #isFirst = true
  #outcome: { error?: Error } | undefined
  #changed = Promise.withResolvers<void>()

  constructor(text: string) {
    this.#text = text
  }

  /** Returns whole rows, or undefined after the last one. */
  async next(): Promise<Buffer | undefined> {
    while (this.#heldBytes === 0 && !this.#outcome) await this.#changed.promise
    if (this.#outcome?.error) throw this.#outcome.error
    if (this.#heldBytes === 0) return undefined
    const bytes = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    this.#changed = Promise.withResolvers()
    if (!this.#outcome) this.#connection!.stream.resume()
    return bytes
  }

  submit(connection: Connection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  /** All that follows is called by node-postgres, by these names. */
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    const row = this.#isFirst ? chunk.subarray(headerBytes) : chunk
    this.#isFirst = false
    // The trailer is a field count of -1.
    if (row.byteLength <= 2) return
    this.#held.push(Buffer.from(row))
    this.#heldBytes += row.byteLength
    if (this.#heldBytes >= mostBytes) this.#connection!.stream.pause()
    this.#changed.resolve()
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#end({})
  }

  handleError(error: Error): void {
    this.#end({ error })
  }

  #end(outcome: { error?: Error }): void {
    this.#outcome ??= outcome
    this.#changed.resolve()
  }
}
