import type { Connection, Pool, Submittable } from 'pg'
import { type BorrowedConnection, borrowConnection } from '../postgres-connections.ts'

/**
 * The application name of connections that copy. They read no table, so publications do not wait for their snapshots
 * (`blocking-snapshots.ts`).
 */
export const copyApplicationName = 'sluice copy'

export interface CopyStatement {
  /** The quoted and qualified table name. */
  table: string
  /** The quoted column names, in the order of the fields. */
  columns: string
  freeze: boolean
}

/** The header of the binary COPY format: signature, flags, no extension. The trailer is a field count of -1. */
const copyHeader = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const copyTrailer = Buffer.from([0xff, 0xff])

/**
 * A connection with one open transaction that runs one COPY. Disposing it before the commit closes the connection,
 * which rolls back.
 */
export class CopyConnection implements Disposable {
  /** The number of chunks that are queued: the operating system has not accepted them yet. */
  pendingChunks = 0
  /** Total bytes written to this connection. */
  bytes = 0
  readonly #borrowed: BorrowedConnection
  readonly #copy: CopyInRequest

  /** True if the message with the COPY also contains its COMMIT. */
  readonly #includesCommit: boolean

  private constructor(borrowed: BorrowedConnection, copy: CopyInRequest, includesCommit: boolean) {
    this.#borrowed = borrowed
    this.#copy = copy
    this.#includesCommit = includesCommit
  }

  /**
   * Borrows a connection and starts the COPY. FREEZE requires a TRUNCATE in the same transaction. The lock of TRUNCATE
   * excludes other connections, so a COPY with FREEZE is committed as soon as it ends, in the same message. COMMIT does
   * not wait for the disk, because the publication does. A crash of the server before the publication ends the attempt.
   */
  static async open(pool: Pool, statement: CopyStatement, signal: AbortSignal): Promise<CopyConnection> {
    const { table, columns, freeze } = statement
    const borrowed = await borrowConnection(pool, signal)
    try {
      const settings = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local application_name = '${copyApplicationName}'; set local synchronous_commit = off`
      const copyStatement = (options: string) => `copy ${table} (${columns}) from stdin with (format binary${options})`
      const statements = freeze ? `truncate ${table}; ${copyStatement(', freeze')}; commit` : copyStatement('')
      const copy = borrowed.client.query(new CopyInRequest(`begin; ${settings}; ${statements}`))
      const connection = new CopyConnection(borrowed, copy, freeze)
      await copy.write(copyHeader)
      return connection
    } catch (error) {
      borrowed[Symbol.dispose]()
      throw error
    }
  }

  /** Resolves to the row count, or rejects, when the COPY ends for any reason. */
  get ended(): Promise<number> {
    return this.#copy.ended
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.pendingChunks += 1
    this.bytes += bytes.byteLength
    try {
      await this.#copy.write(bytes)
    } finally {
      this.pendingChunks -= 1
    }
  }

  /** Ends the COPY and returns the server's row count. Without FREEZE, the transaction stays open until `commit`. */
  async end(): Promise<number> {
    await this.#copy.write(copyTrailer)
    return this.#copy.end()
  }

  /** Commits, unless the server has already done so, and returns the connection to the pool. */
  async commit(): Promise<void> {
    if (!this.#includesCommit) await this.#borrowed.client.query('commit')
    this.#borrowed.markReusable()
    this.#borrowed[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.#borrowed[Symbol.dispose]()
  }
}

/**
 * Opens up to `count` connections, or fewer if the server has too few free connections. Throws if it cannot open any.
 */
export async function openCopyConnections(
  pool: Pool,
  statement: CopyStatement,
  count: number,
  signal: AbortSignal,
): Promise<CopyConnection[]> {
  const open = () => CopyConnection.open(pool, statement, signal)
  const attempts = await Promise.allSettled(Array.from({ length: count }, open))
  const connections = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
  // Opens a single connection if all attempts failed. The server counts pending connections before it checks the limit,
  // so two simultaneous attempts can block each other from the last free connection.
  if (connections.length === 0) return [await open()]
  if (signal.aborted) {
    for (const connection of connections) connection[Symbol.dispose]()
    signal.throwIfAborted()
  }
  return connections
}

/** The type of a protocol message with copied data (`d`). */
const copyDataType = 0x64
/** The protocol message that ends a COPY: the type `c` and the length. */
const copyDoneMessage = Buffer.from([0x63, 0, 0, 0, 4])

/**
 * Runs a message with one COPY … FROM STDIN as a query of node-postgres. Chunks reuse their memory, so `write` resolves
 * only when the socket has handed the bytes to the operating system. The package `pg-copy-streams` does not suffice,
 * because it calls back as soon as the bytes are queued.
 */
class CopyInRequest implements Submittable {
  readonly #text: string
  /** Resolved when the server is ready to receive rows. */
  readonly #opened = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<number>()
  #connection: Connection | undefined
  #rows = 0

  constructor(text: string) {
    this.#text = text
    // Prevents unhandled rejections, because callers may wait for only one of the two promises.
    this.#opened.promise.catch(() => {})
    this.#ended.promise.catch(() => {})
  }

  /** Resolves to the server's row count or rejects with the server's error. */
  get ended(): Promise<number> {
    return this.#ended.promise
  }

  /**
   * Resolves when the caller may reuse the memory of `bytes`. Rejects with the COPY's error if the bytes cannot be
   * sent.
   */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#opened.promise
    const { stream } = this.#connection!
    // A message is its type, its length without the type, and its content.
    const header = Buffer.allocUnsafe(5)
    header[0] = copyDataType
    header.writeUInt32BE(bytes.byteLength + 4, 1)
    stream.cork()
    stream.write(header)
    const written = new Promise<Error | null | undefined>((resolve) => {
      stream.write(bytes, resolve)
    })
    stream.uncork()
    const socketError = await written
    if (!socketError) return
    // Throws the server's error, if it sent one, because that explains why the socket failed.
    await this.ended
    throw socketError
  }

  async end(): Promise<number> {
    await this.#opened.promise
    this.#connection!.stream.write(copyDoneMessage)
    return this.ended
  }

  /** Called by node-postgres, like the `handle…` methods below, which receive the server's messages. */
  submit(connection: Connection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  handleCopyInResponse(): void {
    this.#opened.resolve()
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [, rows] = /^COPY (\d+)/.exec(text) ?? []
    if (rows !== undefined) this.#rows = Number(rows)
  }

  handleReadyForQuery(): void {
    this.#ended.resolve(this.#rows)
  }

  handleError(error: Error): void {
    this.#opened.reject(error)
    this.#ended.reject(error)
  }
}
