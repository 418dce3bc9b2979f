import type { Connection, Submittable } from 'pg'

const copyData = 0x64
const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/**
 * One COPY … FROM STDIN, as node-postgres runs a query. Our own, because a chunk's memory is used again: `write` settles
 * when the socket has handed the bytes to the system, where `pg-copy-streams` calls back as soon as they are queued.
 */
export class CopyIn implements Submittable {
  readonly #text: string
  readonly #opened = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<number>()
  #connection: Connection | undefined
  #rows = 0

  constructor(text: string) {
    this.#text = text
    // Whoever waits hears of a failure; nobody has to wait for both.
    this.#opened.promise.catch(() => {})
    this.#ended.promise.catch(() => {})
  }

  /** Settles when the server has ended the COPY: with the rows that it counted, or with its refusal. */
  get ended(): Promise<number> {
    return this.#ended.promise
  }

  /** Resolves when the bytes may be changed; rejects, with what ended the COPY, when they never arrive. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#opened.promise
    const { stream } = this.#connection!
    const head = Buffer.allocUnsafe(5)
    head[0] = copyData
    head.writeUInt32BE(bytes.byteLength + 4, 1)
    stream.cork()
    stream.write(head)
    const taken = new Promise<Error | null | undefined>((resolve) => {
      stream.write(bytes, resolve)
    })
    stream.uncork()
    const failure = await taken
    if (!failure) return
    await this.ended
    throw failure
  }

  async end(): Promise<number> {
    await this.#opened.promise
    this.#connection!.stream.write(copyDone)
    return this.ended
  }

  submit(connection: Connection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  /** All that follows is called by node-postgres, by these names. */
  handleCopyInResponse(): void {
    this.#opened.resolve()
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#rows = Number(/^COPY (\d+)/.exec(text)?.[1] ?? 0)
  }

  handleReadyForQuery(): void {
    this.#ended.resolve(this.#rows)
  }

  handleError(error: Error): void {
    this.#opened.reject(error)
    this.#ended.reject(error)
  }
}
