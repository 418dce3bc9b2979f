import type { Pool } from 'pg'
import type { RowContent, StoredType, TupleChunk } from '../../warehouse.ts'
import { checkWhileWriting } from '../server/database-size-limit.ts'
import { type CopyConnection, openCopyConnections } from './copy-connection.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { type ProblemContext, warehouseProblem } from '../map-server-errors.ts'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { failpoint } from '@sluice/process'
import { CopySlot } from './copy-concurrency.ts'

/** The source rows and the target of a copy into a staging table. */
export interface CopyRequest {
  /** The name of the staging table, without quotes. */
  staging: string
  /** The quoted column names, separated by commas. */
  columns: string
  types: readonly StoredType[]
  content: RowContent
  /**
   * True if all rows must be frozen (visible to every snapshot), whatever the size of the load. That is slower for
   * large loads.
   */
  frozen: boolean
  /**
   * Returns the number of bytes that the database may still grow. Throws WAREHOUSE_FULL if the database exceeds its
   * size limit. Absent if the database has no limit.
   */
  ensureFreeBytes?: (() => Promise<number>) | undefined
}

export interface CopyResult {
  rows: number
  bytes: number
  /**
   * True if COPY FREEZE loaded all rows, so every snapshot sees them. Otherwise the publication waits for older
   * snapshots.
   */
  frozen: boolean
}

/**
 * The load size in bytes from which a second connection is worth its costs. Rows of two connections cannot be frozen,
 * so the publication waits for older readers, and PostgreSQL writes hint bits later.
 */
const twoConnectionsFromBytes = 64 * 1024 * 1024

/**
 * Fills an empty staging table and returns the row and byte counts. A small load uses one connection, which freezes its
 * rows. A large load uses two connections, because one server process would limit its speed. If the size is unknown,
 * the first 64 MB use one connection, and the rest uses two.
 */
export async function copyInto(
  pool: Pool,
  { staging, columns, types, content, frozen, ensureFreeBytes }: CopyRequest,
  problemContext: ProblemContext,
  signal: AbortSignal,
): Promise<CopyResult> {
  const statement = { table: qualifyName('sluice', staging), columns }
  const rows = content.rows(types)
  const chunks = ensureFreeBytes ? checkWhileWriting(rows, ensureFreeBytes) : rows
  using distributor = new ChunkDistributor(chunks, signal, pool.options.database ?? '')
  /** Copies the next `maxBytes` bytes of the source. Returns their row count, and whether the source has ended. */
  const copyNext = async (maxBytes: number, options: { freeze: boolean; connectionCount: number }) => {
    using stack = new DisposableStack()
    const { freeze, connectionCount } = options
    const connections = await openCopyConnections(pool, { ...statement, freeze }, connectionCount, signal)
    for (const connection of connections) stack.use(connection)
    const hasEnded = await distributor.distribute(connections, maxBytes)
    return { hasEnded, rows: await distributor.finish(connections) }
  }
  try {
    const maxFrozenBytes = frozen ? Infinity : twoConnectionsFromBytes
    const isKnownToBeLarge = content.size !== undefined && content.size >= maxFrozenBytes
    const start = isKnownToBeLarge
      ? { hasEnded: false, rows: 0 }
      : await copyNext(maxFrozenBytes, { freeze: true, connectionCount: 1 })
    if (start.hasEnded) return { rows: start.rows, bytes: distributor.bytes, frozen: true }
    const rest = await copyNext(Infinity, { freeze: false, connectionCount: 2 })
    return { rows: start.rows + rest.rows, bytes: distributor.bytes, frozen: false }
  } catch (error) {
    if (error instanceof SourceError) throw error.cause
    signal.throwIfAborted()
    throw warehouseProblem(error, problemContext)
  }
}

/** Wraps an error of the source, so that `copyInto` can rethrow it unchanged. */
class SourceError extends Error {}

/**
 * The maximum number of queued chunks per connection. Two keep the connection busy while the source produces the next
 * chunk.
 */
const maxPendingChunks = 2

/**
 * Distributes chunks to COPY connections. If a connection fails or the signal aborts, it stops at once, even if the
 * source hangs: each wait ends with the first failure. Every wait uses its own promise, so that a long load does not
 * accumulate listeners.
 */
class ChunkDistributor implements Disposable {
  /** The bytes of all chunks until now. */
  bytes = 0
  readonly #source: AsyncIterator<TupleChunk>
  readonly #signal: AbortSignal
  readonly #slot: CopySlot
  readonly #abort = () => this.#failWith(this.#signal.reason)
  #hasSourceEnded = false
  /** The first error of a connection, or the reason of the abort. */
  #failure: Error | undefined
  /** Rejects the current wait. */
  #rejectWait: ((error: Error) => void) | undefined
  /** Wakes `#waitForConnection`, because a connection has written a chunk. */
  #onChunkWritten: (() => void) | undefined

  /** `client` is the organisation; its share of the copy slots limits this copy. */
  constructor(chunks: AsyncIterable<TupleChunk>, signal: AbortSignal, client: string) {
    this.#source = chunks[Symbol.asyncIterator]()
    this.#signal = signal
    this.#slot = new CopySlot(client, signal)
    if (signal.aborted) this.#abort()
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Distributes chunks until the source ends or `maxBytes` bytes have been sent in total. Returns true if the source
   * has ended.
   */
  async distribute(connections: readonly CopyConnection[], maxBytes: number): Promise<boolean> {
    for (const connection of connections) connection.ended.catch((error: Error) => this.#failWith(error))
    while (this.bytes < maxBytes) {
      const next = await this.#nextChunk()
      if (next.done) {
        this.#hasSourceEnded = true
        return true
      }
      const chunk = next.value
      this.bytes += chunk.bytes.byteLength
      await this.#slot.acquire(chunk.bytes.byteLength)
      this.#send(await this.#waitForConnection(connections), chunk)
    }
    return false
  }

  /** Ends the COPY on all connections, and only then commits them. Returns the row count. */
  async finish(connections: readonly CopyConnection[]): Promise<number> {
    const rowCounts = await this.#failFast(Promise.all(connections.map((connection) => connection.end())))
    await this.#failFast(Promise.all(connections.map((connection) => connection.commit())))
    return rowCounts.reduce((sum, rows) => sum + rows, 0)
  }

  [Symbol.dispose](): void {
    this.#slot[Symbol.dispose]()
    this.#signal.removeEventListener('abort', this.#abort)
    // Does not wait until the source is closed, because the source may hang.
    if (!this.#hasSourceEnded) void Promise.resolve(this.#source.return?.()).catch(() => {})
  }

  /** Reads the next chunk of the source. Rejects with `SourceError` if the source fails. */
  #nextChunk(): Promise<IteratorResult<TupleChunk>> {
    return this.#waitUnlessFailed((resolve, reject) => {
      this.#slot
        .waitFor(this.#readSource())
        .then(resolve, (cause: unknown) => reject(new SourceError('the source failed', { cause })))
    })
  }

  async #readSource(): Promise<IteratorResult<TupleChunk>> {
    await failpoint('in-copy')
    // If neither socket nor source ever blocks, timers and cancellation would otherwise not run.
    await yieldToEventLoop()
    return this.#source.next()
  }

  /** Queues the chunk on the connection. Releases the chunk's memory when it is written. */
  #send(connection: CopyConnection, chunk: TupleChunk): void {
    const onWritten = () => {
      chunk.release?.()
      this.#onChunkWritten?.()
    }
    connection.write(chunk.bytes).then(onWritten, (error: Error) => {
      this.#failWith(error)
      onWritten()
    })
  }

  /** Returns the connection with the fewest queued chunks, once it can accept another one. */
  async #waitForConnection(all: readonly CopyConnection[]): Promise<CopyConnection> {
    for (;;) {
      // Uses only one connection while another organisation copies, because each connection occupies a server process.
      const connections = this.#slot.isShared ? all.slice(0, 1) : all
      const connection = findLeastLoaded(connections)
      if (connection.pendingChunks < maxPendingChunks) return connection
      await this.#waitUnlessFailed<void>((resolve) => {
        this.#onChunkWritten = resolve
      })
    }
  }

  /** Returns the result of the promise, or rejects as soon as a connection fails or the signal aborts. */
  #failFast<T>(promise: Promise<T>): Promise<T> {
    // Prevents an unhandled rejection: after a failure, this promise has no other listener.
    promise.catch(() => {})
    return this.#waitUnlessFailed<T>((resolve, reject) => void promise.then(resolve, reject))
  }

  /** Records the first failure and ends the current wait with it. */
  #failWith(error: Error): void {
    this.#failure ??= error
    this.#rejectWait?.(this.#failure)
  }

  /** Starts a wait that `#failWith` can end. Rejects without starting it if there is a failure already. */
  #waitUnlessFailed<T>(start: (resolve: (value: T) => void, reject: (error: Error) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#rejectWait = reject
      if (this.#failure) reject(this.#failure)
      else start(resolve, reject)
    })
  }
}

/**
 * Returns the connection with the fewest queued chunks. If several have equally few, returns the one that has written
 * the fewest bytes. Otherwise the first connection would get all chunks of a slow source.
 */
function findLeastLoaded(connections: readonly CopyConnection[]): CopyConnection {
  let leastLoaded = connections[0]!
  for (const connection of connections) {
    const hasFewerChunks = connection.pendingChunks < leastLoaded.pendingChunks
    const hasFewerBytes = connection.pendingChunks === leastLoaded.pendingChunks && connection.bytes < leastLoaded.bytes
    if (hasFewerChunks || hasFewerBytes) leastLoaded = connection
  }
  return leastLoaded
}
