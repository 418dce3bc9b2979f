import { type Connection, type PoolClient, type Submittable, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { copyInto } from '../copy/copy-into-staging.ts'
import { createFreeBytesCheck, type PostgresStagedTable } from '../staged-table.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { readShape } from '../table-shape.ts'
import { createStaging, dropDetached, toStagingComment, stagingName } from '../staging-table-ddl.ts'
import type { TupleChunk } from '../../warehouse.ts'

/** Copies of the staging tables of a dry run. Disposing drops the copies that have not replaced a staging table. */
export class RowCopies implements AsyncDisposable {
  readonly #pools: PostgresPools
  readonly #loads: readonly PostgresStagedTable[]
  /** The name of each load's copy. */
  readonly #names = new Map<PostgresStagedTable, string>()

  constructor(pools: PostgresPools, loads: readonly PostgresStagedTable[]) {
    this.#pools = pools
    this.#loads = loads
  }

  /**
   * Creates the copies, on other connections, with columns and rows as the open transaction of `client` sees them.
   * Copies no indexes and constraints.
   */
  async create(client: PoolClient, signal: AbortSignal): Promise<void> {
    for (const load of this.#loads) {
      const staging = stagingName({ ...load.target, staging: 2 })
      const { columns } = (await readShape(client, 'sluice', load.stagingTable, { isPrepared: false }))!
      this.#names.set(load, staging)
      await withClient(this.#pools.statements, signal, (otherClient) =>
        createStaging(otherClient, staging, toStagingComment(load.target), columns),
      )
      const names = columns.map(({ name }) => name)
      const rows = () => readTuples(client, qualifyName('sluice', load.stagingTable), names)
      const ensureFreeBytes = createFreeBytesCheck(this.#pools, load, signal)
      const request = {
        staging,
        columns: names.map((name) => escapeIdentifier(name)).join(', '),
        types: [],
        content: { format: 'copy-binary' as const, rows },
        frozen: false,
        ensureFreeBytes,
      }
      await copyInto(this.#pools.copies, request, load.problemContext, signal)
      // COPY may have written more since the last check of the disk limit.
      await ensureFreeBytes?.()
    }
  }

  /** Renames the copies to the names of the staging tables. Call it after the staging tables are gone. */
  async replaceStaging(): Promise<void> {
    const renames = [...this.#names].map(
      ([{ stagingTable }, copy]) =>
        `alter table ${qualifyName('sluice', copy)} rename to ${escapeIdentifier(stagingTable)}`,
    )
    await withClient(this.#pools.statements, undefined, (client) =>
      client.query(['begin', ...renames, 'commit'].join(';')),
    )
    this.#names.clear()
  }

  /** Drops the remaining copies. Never throws, because maintenance drops what remains. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#names.values()) await dropDetached(this.#pools.statements, name).catch(() => {})
  }
}

/**
 * The size in bytes of the header before the first row, and of the trailer after the last row, in binary COPY format.
 */
const headerBytes = 19
const trailerBytes = 2

/** The maximum bytes of queued rows. The connection is paused when they are reached. */
const maxQueuedBytes = 1024 ** 2

/**
 * Yields the rows of a table as the open transaction of `client` sees them. The format is binary COPY without header
 * and trailer. `table` is quoted and qualified. A consumer that stops early must close the connection.
 */
async function* readTuples(client: PoolClient, table: string, columns: readonly string[]): AsyncGenerator<TupleChunk> {
  const list = columns.map((name) => escapeIdentifier(name)).join(', ')
  const copy = client.query(new CopyRows(`copy ${table} (${list}) to stdout (format binary)`))
  for (let bytes = await copy.next(); bytes; bytes = await copy.next()) yield { bytes }
}

/** Runs COPY … TO STDOUT through node-postgres. The server sends each row as one message. */
class CopyRows implements Submittable {
  readonly #text: string
  #connection: Connection | undefined
  /** Rows that the consumer has not received yet. */
  #queue: Buffer[] = []
  #queuedBytes = 0
  #isFirstMessage = true
  /** Set when the COPY has ended, with the server's error if it failed. */
  #outcome: { error?: Error } | undefined
  /** Resolved when rows arrive and when the COPY ends. */
  #arrival = Promise.withResolvers<void>()

  constructor(text: string) {
    this.#text = text
  }

  /** Returns the next complete rows, or undefined after the last one. */
  async next(): Promise<Buffer | undefined> {
    while (this.#queuedBytes === 0 && !this.#outcome) await this.#arrival.promise
    if (this.#outcome?.error) throw this.#outcome.error
    if (this.#queuedBytes === 0) return undefined
    const bytes = Buffer.concat(this.#queue)
    this.#queue = []
    this.#queuedBytes = 0
    this.#arrival = Promise.withResolvers()
    if (!this.#outcome) this.#connection!.stream.resume()
    return bytes
  }

  /** Called by node-postgres, like the `handle…` methods below, which receive the server's messages. */
  submit(connection: Connection): void {
    this.#connection = connection
    connection.query(this.#text)
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    const row = this.#isFirstMessage ? chunk.subarray(headerBytes) : chunk
    this.#isFirstMessage = false
    // Skips the trailer, and a header without a row.
    if (row.byteLength <= trailerBytes) return
    this.#queue.push(Buffer.from(row))
    this.#queuedBytes += row.byteLength
    if (this.#queuedBytes >= maxQueuedBytes) this.#connection!.stream.pause()
    this.#arrival.resolve()
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
    // The last row may have paused the connection, which the caller uses for further statements.
    this.#connection?.stream.resume()
    this.#arrival.resolve()
  }
}
