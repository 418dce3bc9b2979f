import {
  formatCount,
  describeColumns,
  type RowStream,
  type ReadReporter,
  type DataSource,
  SourceProblem,
  type StoredType,
  type TupleChunk,
  ReadingThread,
  suspendSpareThreads,
} from '@sluice/row-stream'
import { type AddressResolver, type DatabaseConfig, type DatabaseLimits, databaseLimits } from './database-config.ts'
import { listCodes, createDatabaseProblem, getErrorMessage } from './problems.ts'
import type { DatabaseCommand, DatabaseJob, DatabaseMessage } from './thread-protocol.ts'
import type { ReadNote, SourceStatement } from './database-session.ts'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/**
 * Reads a database as row streams: one for the query, or one for each table. A thread holds the connection and encodes the rows, so that the event
 * loop stays free and memory use does not depend on the number of rows. The consumer must read the rows of a stream before it requests the next one.
 * All tables are read in one snapshot if the database supports snapshots. README.md in this directory describes each database.
 */
export function createDatabaseSource(
  resolveAddresses: AddressResolver,
  limits: DatabaseLimits = databaseLimits,
): DataSource<DatabaseConfig> {
  return { read: (config, report, signal) => readDatabase(config, resolveAddresses, limits, report, signal) }
}

/** Checks that the database is reachable, accepts the login, and can run the query or read the tables. Reads no rows. Throws `SourceProblem`. */
export async function testDatabaseConnection(...connection: Parameters<typeof listStatementColumns>): Promise<void> {
  await listStatementColumns(...connection)
}

/** Returns the columns of the query, or of the last table. Reads no rows. Throws `SourceProblem`. */
export async function listStatementColumns(
  config: DatabaseConfig,
  connectable: AddressResolver,
  signal: AbortSignal,
  limits: DatabaseLimits = databaseLimits,
): Promise<RowStream['columns']> {
  const addresses = await resolveHost(config, connectable)
  const statements = config.query || config.tables?.length ? listStatements(config) : []
  await using thread = startDatabaseThread({ config, addresses, statements, limits }, signal)
  for (let columns: RowStream['columns'] = []; ; ) {
    const message = await thread.receive()
    if (message.kind === 'finished') return columns
    if (message.kind !== 'described') continue
    columns = message.columns
    thread.send({ kind: 'next' })
  }
}

async function* readDatabase(
  config: DatabaseConfig,
  connectable: AddressResolver,
  limits: DatabaseLimits,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  const statements = listStatements(config)
  const addresses = await resolveHost(config, connectable)
  await using reading = new DatabaseReader({ config, addresses, statements, limits }, report, signal)
  for (const { table } of statements) {
    const { columns, bytes, increment } = await reading.describe()
    const { cursor, fullRead, deletedColumn } = increment ?? {}
    if (fullRead !== undefined) reportFullRead(report, fullRead)
    report.log(
      'INFO',
      'LOW',
      `Read ${table || 'the query'}, ${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`,
    )
    const size = bytes === undefined ? {} : { size: bytes }
    yield {
      table,
      columns,
      content: { format: 'copy-binary', rows: (types) => reading.rows(types), ...size },
      ...(cursor && { cursor: () => cursor }),
      ...(fullRead !== undefined && { whole: () => true }),
      ...(deletedColumn !== undefined && { deletedColumn }),
    }
    reading.next()
  }
}

/** Reports that an increment was requested, but everything is read. */
export function reportFullRead(report: ReadReporter, reason: string): void {
  report.log('INFO', 'MEDIUM', reason)
  report.readsEverything?.(reason)
}

function listStatements({ query, tables }: DatabaseConfig): SourceStatement[] {
  if (query?.trim()) return [{ table: '', query }]
  if (tables?.length) return tables.map(({ schema, name }) => ({ table: name, name, ...(schema && { schema }) }))
  throw new SourceProblem(
    'NOTHING_TO_READ',
    'The settings contain neither a query nor tables. Enter a query, or select a table.',
  )
}

async function resolveHost(config: DatabaseConfig, connectable: AddressResolver): Promise<DatabaseJob['addresses']> {
  try {
    return await connectable(config.host, config.port)
  } catch (cause) {
    const unknown = listCodes(cause).some((code) => ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA'].includes(code))
    if (unknown) throw createDatabaseProblem({ code: 'HOST_UNKNOWN' }, config, '', { cause })
    throw new SourceProblem('ADDRESS_NOT_ALLOWED', getErrorMessage(cause), { cause })
  }
}

/** Reads the statements of one thread, one after another. */
class DatabaseReader implements AsyncDisposable {
  readonly #report: ReadReporter
  readonly #thread: ReturnType<typeof startDatabaseThread>
  #isRead = false

  constructor(job: DatabaseJob, report: ReadReporter, signal: AbortSignal) {
    this.#report = report
    this.#thread = startDatabaseThread(job, signal)
  }

  async describe(): Promise<Omit<Extract<DatabaseMessage, { kind: 'described' }>, 'kind' | 'notes'>> {
    for (;;) {
      const message = await this.#thread.receive()
      if (message.kind !== 'connected' && message.kind !== 'described') continue
      this.#log(message.notes)
      if (message.kind === 'connected') continue
      this.#isRead = false
      return message
    }
  }

  async *rows(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    // The database declares the column types, so they never have to be widened in a second read.
    if (this.#isRead) throw new Error('Internal error: the rows of a database statement were requested twice.')
    this.#isRead = true
    const thread = this.#thread
    thread.send({ kind: 'rows', types })
    let isComplete = false
    try {
      for (;;) {
        const message = await thread.receive()
        if (message.kind === 'done') {
          this.#log(message.notes)
          isComplete = true
          return
        }
        if (message.kind !== 'batch') continue
        const { tuples, rejected, totals } = message
        for (const row of rejected) this.#report.reject(row)
        this.#report.progress(totals)
        if (tuples.length > 0)
          yield { bytes: tuples, release: () => thread.send({ kind: 'reuse', memory: tuples.buffer }, [tuples.buffer]) }
        thread.send({ kind: 'more' })
      }
    } finally {
      if (!isComplete) await thread[Symbol.asyncDispose]()
    }
  }

  next(): void {
    this.#thread.send({ kind: 'next' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]()
  }

  #log(notes: readonly ReadNote[]): void {
    for (const { level, message } of notes) this.#report.log(level, level === 'WARN' ? 'MEDIUM' : 'LOW', message)
  }
}

/** Starts a thread that reads a database. The connection closes when the thread ends. */
function startDatabaseThread(job: DatabaseJob, signal: AbortSignal): ReadingThread<DatabaseMessage, DatabaseCommand> {
  const { kind, host } = job.config
  const program = new URL('./database-thread.ts', import.meta.url)
  const resourceLimits = { maxYoungGenerationSizeMb: 4 }
  // The thread gets no environment variables of the process, because drivers read passwords and settings from some of them and
  // would send them to the server. The only exception is the compile cache, which saves compiling the modules for each thread.
  // Node reports the subdirectory for its own version, so the parent directory is passed.
  const compiled = getCompileCacheDir()
  const env: Record<string, string> = compiled ? { NODE_COMPILE_CACHE: dirname(compiled) } : {}
  const reading = `the database at ${host}`
  // A cancelled run must end within five seconds.
  const cancellation = {
    command: { kind: 'cancel' } satisfies DatabaseCommand,
    milliseconds: 2_500,
    lastMessage: 'finished',
  }
  const reader = { program, name: kind, job, reading, resourceLimits, env, cancellation }
  const thread = new ReadingThread<DatabaseMessage, DatabaseCommand>(reader, signal)
  suspendSpareThreads(thread.ended)
  return thread
}
