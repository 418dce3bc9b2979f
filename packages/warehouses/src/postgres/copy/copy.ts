import type { Pool } from 'pg'
import type { RowContent, StoredType, TupleChunk } from '../../warehouse.ts'
import { checkWhileWriting } from '../server/database-size-limit.ts'
import { type CopyConnection, openCopyConnections } from './copy-connection.ts'
import { qualifyName } from '../names.ts'
import { type ProblemContext, warehouseProblem } from '../problems.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { failpoint } from '@sluice/process'
import { CopySlot } from './copy-concurrency.ts'

/** The source rows and the target of a copy into a staging table. Column names are quoted. */
export interface CopyRequest {
  staging: string
  columns: string
  types: readonly StoredType[]
  content: RowContent
  /**
   * True if all rows must be frozen (visible to every snapshot), whatever the size of the load. That is slower for
   * large loads.
   */
  frozen: boolean
  /**
   * Returns the number of bytes that the database may still grow. Throws WAREHOUSE_FULL. Absent if the database has no
   * size limit.
   */
  assertFree?: (() => Promise<number>) | undefined
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
 * The load size in bytes from which a second connection is worth its costs: waiting for older readers, and writing hint
 * bits later.
 */
const twoConnectionsFromBytes = 64 * 1024 * 1024

/**
 * Fills an empty staging table. One connection can freeze its rows, but is limited by one server process. So a large
 * load uses two connections, and a load that turns out to be large continues on two.
 */
export async function copyInto(
  pool: Pool,
  copying: CopyRequest,
  problemContext: ProblemContext,
  signal: AbortSignal,
): Promise<CopyResult> {
  const { columns, types, content, assertFree } = copying
  const statement = { table: qualifyName('sluice', copying.staging), columns }
  const rows = content.rows(types)
  const chunks = assertFree ? checkWhileWriting(rows, assertFree) : rows
  using distributor = new ChunkDistributor(chunks, signal, pool.options.database ?? '')
  const through = async (freeze: boolean, maxBytes?: number) => {
    using stack = new DisposableStack()
    const connections = await openCopyConnections(pool, { ...statement, freeze }, freeze ? 1 : 2, signal)
    for (const connection of connections) stack.use(connection)
    const isComplete = await distributor.distribute(connections, maxBytes)
    return { whole: isComplete, rows: await distributor.finish(connections) }
  }
  try {
    const maxBytes = copying.frozen ? Infinity : twoConnectionsFromBytes
    const large = (content.size ?? 0) >= maxBytes
    const first = large ? { whole: false, rows: 0 } : await through(true, maxBytes)
    const rest = first.whole ? 0 : (await through(false)).rows
    return { rows: first.rows + rest, bytes: distributor.bytes, frozen: first.whole }
  } catch (error) {
    if (error instanceof SourceFailed) throw error.cause
    signal.throwIfAborted()
    throw warehouseProblem(error, problemContext)
  }
}

/** Marks an error of the source, so that `copyInto` rethrows it unchanged. */
class SourceFailed extends Error {}

/**
 * The maximum number of queued chunks per connection. Two keep the connection busy while the source produces the next
 * chunk.
 */
const maxPendingChunks = 2

/**
 * Distributes chunks to COPY connections. If a connection fails or the signal aborts, it stops at once, even if the
 * source hangs. Every wait uses its own promise, so that a long load does not accumulate listeners.
 */
class ChunkDistributor implements Disposable {
  bytes = 0
  readonly #giver: AsyncIterator<TupleChunk>
  readonly #signal: AbortSignal
  readonly #slot: CopySlot
  readonly #abort = () => this.#break(this.#signal.reason)
  #exhausted = false
  #broken: Error | undefined
  #fail: ((error: Error) => void) | undefined
  #wake: (() => void) | undefined

  /** `client` is the organisation; its share of the copy slots limits this copy. */
  constructor(chunks: AsyncIterable<TupleChunk>, signal: AbortSignal, client: string) {
    this.#giver = chunks[Symbol.asyncIterator]()
    this.#signal = signal
    this.#slot = new CopySlot(client, signal)
    if (signal.aborted) this.#abort()
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Distributes chunks until the source ends or `maxBytes` bytes have been sent in total. Returns true if the source
   * has ended.
   */
  async distribute(connections: readonly CopyConnection[], maxBytes = Infinity): Promise<boolean> {
    for (const connection of connections) connection.ended.catch((error: Error) => this.#break(error))
    while (this.bytes < maxBytes) {
      const next = await this.#unlessBroken<IteratorResult<TupleChunk>>((resolve, reject) => {
        this.#slot
          .waitFor(this.#next())
          .then(resolve, (cause: unknown) => reject(new SourceFailed('the source failed', { cause })))
      })
      if (next.done) return (this.#exhausted = true)
      this.bytes += next.value.bytes.byteLength
      await this.#slot.acquire(next.value.bytes.byteLength)
      this.#send(await this.#leastLoaded(connections), next.value)
    }
    return false
  }

  /** Ends the COPY on all connections, and only then commits them. Returns the row count. */
  async finish(connections: readonly CopyConnection[]): Promise<number> {
    const rows = await this.#orBroken(Promise.all(connections.map((connection) => connection.end())))
    await this.#orBroken(Promise.all(connections.map((connection) => connection.commit())))
    return rows.reduce((sum, each) => sum + each, 0)
  }

  [Symbol.dispose](): void {
    this.#slot[Symbol.dispose]()
    this.#signal.removeEventListener('abort', this.#abort)
    // Does not wait until the source is closed, because the source may hang.
    if (!this.#exhausted) void Promise.resolve(this.#giver.return?.()).catch(() => {})
  }

  async #next(): Promise<IteratorResult<TupleChunk>> {
    await failpoint('in-copy')
    // Yields to the event loop. If neither socket nor source ever blocks, timers and cancellation would otherwise not
    // run.
    await turn()
    return this.#giver.next()
  }

  #send(connection: CopyConnection, chunk: TupleChunk): void {
    const taken = () => {
      chunk.release?.()
      this.#wake?.()
    }
    connection.write(chunk.bytes).then(taken, (error: Error) => {
      this.#break(error)
      taken()
    })
  }

  /** Returns the connection with the fewest queued chunks, once it can accept another one. */
  async #leastLoaded(all: readonly CopyConnection[]): Promise<CopyConnection> {
    for (;;) {
      // Uses only one connection while another organisation copies, because each connection occupies a server process.
      const connections = this.#slot.isShared ? all.slice(0, 1) : all
      // If several connections have equally few queued chunks, the one with the fewest bytes is used. Otherwise the
      // first connection would get all chunks of a slow source.
      const connection = connections.reduce((least, other) =>
        (other.pending - least.pending || other.bytes - least.bytes) < 0 ? other : least,
      )
      if (connection.pending < maxPendingChunks) return connection
      await this.#unlessBroken<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #orBroken<T>(promise: Promise<T>): Promise<T> {
    // Prevents an unhandled rejection: after a failure, this promise has no other listener.
    promise.catch(() => {})
    return this.#unlessBroken<T>((resolve, reject) => void promise.then(resolve, reject))
  }

  #break(error: Error): void {
    this.#broken ??= error
    this.#fail?.(this.#broken)
  }

  #unlessBroken<T>(wait: (resolve: (value: T) => void, reject: (error: Error) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#fail = reject
      if (this.#broken) reject(this.#broken)
      else wait(resolve, reject)
    })
  }
}
