import {
  formatCount,
  describeColumns,
  type RowStream,
  type ReadReporter,
  type DataSource,
  type RejectedRow,
  SourceProblem,
  type StoredType,
  type TupleChunk,
  ReadingThread,
  suspendSpareThreads,
} from '@sluice/row-stream'
import { type AddressResolver, type DatabaseConfig, type DatabaseLimits, databaseLimits } from './database-config.ts'
import { listCodes, createDatabaseProblem, getErrorMessage } from './database-problems.ts'
import type { DatabaseCommand, DatabaseJob, DatabaseMessage, StatementDescription } from './database-thread-protocol.ts'
import { formatStatementName, type ReadNote, type SourceStatement } from './database-session.ts'
import type { StoredCursor } from './increments/increment-settings.ts'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/** The row stream of one statement. `cursor` returns the position at which the next increment starts. */
export interface DatabaseRowStream extends Omit<RowStream, 'cursor'> {
  cursor?(): StoredCursor
  /** Returns the number of rows read until now, including rejected rows. */
  rowsRead(): number
}

interface DatabaseSource extends DataSource<DatabaseConfig> {
  read(config: DatabaseConfig, report: ReadReporter, signal: AbortSignal): AsyncIterable<DatabaseRowStream>
}

/**
 * Reads a database as row streams: one for the query, or one per table. A separate thread holds the connection and
 * encodes the rows, so that the event loop stays responsive and memory use does not depend on the number of rows. The
 * caller must read all rows of a stream before it requests the next stream. All tables are read in one snapshot if the
 * database supports snapshots. README.md in this directory describes each database.
 */
export function createDatabaseSource(
  resolveAddresses: AddressResolver,
  limits: DatabaseLimits = databaseLimits,
): DatabaseSource {
  return { read: (config, report, signal) => readDatabase(config, resolveAddresses, limits, report, signal) }
}

/**
 * Checks that the database is reachable, accepts the login, and can run the query or read the tables. Reads no rows.
 * Throws `SourceProblem` if not.
 */
export async function testDatabaseConnection(...connection: Parameters<typeof listStatementColumns>): Promise<void> {
  await listStatementColumns(...connection)
}

/**
 * Connects, describes the query or all tables, and returns the columns of the query or of the last table. Returns an
 * empty list if the configuration contains neither. Reads no rows. Throws `SourceProblem` if the connection or a
 * statement fails.
 */
export async function listStatementColumns(
  config: DatabaseConfig,
  resolveAddresses: AddressResolver,
  signal: AbortSignal,
  limits: DatabaseLimits = databaseLimits,
): Promise<RowStream['columns']> {
  const addresses = await resolveHost(config, resolveAddresses)
  const statements = config.query || config.tables?.length ? listStatements(config) : []
  await using thread = startDatabaseThread({ config, addresses, statements, limits }, signal)
  let columns: RowStream['columns'] = []
  for (let describedCount = 0; describedCount < statements.length; ) {
    const message = await thread.receive()
    if (message.kind !== 'described') continue
    columns = message.columns
    describedCount += 1
  }
  thread.send({ kind: 'end' })
  // A thread that is disposed before its last message would cancel its query first.
  while ((await thread.receive()).kind !== 'finished');
  return columns
}

/**
 * Yields a row stream for the query, or for each table in the order of the configuration. Describes all statements
 * before the first stream. So if one of them cannot be read, it throws before any row is read.
 */
async function* readDatabase(
  config: DatabaseConfig,
  resolveAddresses: AddressResolver,
  limits: DatabaseLimits,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<DatabaseRowStream, void, void> {
  signal.throwIfAborted()
  const statements = listStatements(config)
  const addresses = await resolveHost(config, resolveAddresses)
  await using reader = new DatabaseReader({ config, addresses, statements, limits }, report, signal)
  const descriptions = await reader.describeAll()
  for (const [index, description] of descriptions.entries()) {
    const { columns, notes, increment } = description
    if (increment?.fullRead !== undefined) report.readsEverything?.(increment.fullRead)
    const statement = statements[index]!
    const name = formatStatementName(statement)
    const position = statements.length > 1 ? ` (${index + 1} of ${statements.length})` : ''
    report.log(
      'INFO',
      'LOW',
      `Read ${name}${position}, ${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`,
    )
    reader.log(notes)
    const stream = createRowStream(statement.table, description, (types, onEnd) => reader.rows(index, types, onEnd))
    yield stream
    if (statements.length > 1) report.log('INFO', 'LOW', `${name} has ${formatCount(stream.rowsRead(), 'row')}.`)
  }
  reader.end()
}

/** Creates the row stream of a described statement. `readRows` calls `onEnd` with the number of rows. */
function createRowStream(
  table: string,
  { columns, estimatedBytes, increment = {} }: StatementDescription,
  readRows: (types: readonly StoredType[], onEnd: (rowCount: number) => void) => AsyncIterable<TupleChunk>,
): DatabaseRowStream {
  const { cursor, fullRead, deletedColumn } = increment
  let rowsRead = 0
  const rows = (types: readonly StoredType[]) =>
    readRows(types, (rowCount) => {
      rowsRead = rowCount
    })
  return {
    table,
    columns,
    content: { format: 'copy-binary', rows, ...(estimatedBytes !== undefined && { size: estimatedBytes }) },
    ...(cursor && { cursor: () => cursor }),
    ...(fullRead !== undefined && { whole: () => true }),
    ...(deletedColumn !== undefined && { deletedColumn }),
    rowsRead: () => rowsRead,
  }
}

function listStatements({ query, tables, increment }: DatabaseConfig): SourceStatement[] {
  if (query?.trim()) return [{ table: '', query, ...(increment && { increment }) }]
  if (tables?.length) return tables.map((table) => ({ table: table.name, ...table }))
  throw new SourceProblem(
    'NOTHING_TO_READ',
    'The settings contain neither a query nor tables. Enter a query, or select a table.',
  )
}

/**
 * Returns the addresses of the host. Throws `SourceProblem` HOST_UNKNOWN, or ADDRESS_NOT_ALLOWED for any other error.
 */
async function resolveHost(
  config: DatabaseConfig,
  resolveAddresses: AddressResolver,
): Promise<DatabaseJob['addresses']> {
  try {
    return await resolveAddresses(config.host, config.port)
  } catch (cause) {
    const isUnknownHost = listCodes(cause).some((code) => ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA'].includes(code))
    if (isUnknownHost) throw createDatabaseProblem({ code: 'HOST_UNKNOWN' }, config, '', { cause })
    throw new SourceProblem('ADDRESS_NOT_ALLOWED', getErrorMessage(cause), { cause })
  }
}

/** Controls the thread that reads a database. Reads the rows of one statement after another. */
class DatabaseReader implements AsyncDisposable {
  readonly #report: ReadReporter
  readonly #thread: ReturnType<typeof startDatabaseThread>
  readonly #statements: readonly SourceStatement[]
  readonly #readStatements = new Set<number>()

  constructor(job: DatabaseJob, report: ReadReporter, signal: AbortSignal) {
    this.#statements = job.statements
    this.#report = report
    this.#thread = startDatabaseThread(job, signal)
  }

  /** Returns the descriptions of all statements. Throws one problem that names all tables that cannot be read. */
  async describeAll(): Promise<StatementDescription[]> {
    const descriptions: StatementDescription[] = []
    while (descriptions.length < this.#statements.length) {
      const message = await this.#thread.receive()
      // Reports progress although no row was read. The database responds, so the run must not end as stalled.
      this.#report.progress({})
      if (message.kind === 'connected') this.log(message.notes)
      else if (message.kind === 'unreadable') this.#report.log('ERROR', 'HIGH', message.message)
      else if (message.kind === 'described') descriptions.push(message)
    }
    return descriptions
  }

  /** Yields the rows of a statement. `onEnd` receives the number of rows, including rejected ones. */
  async *rows(
    statement: number,
    types: readonly StoredType[],
    onEnd: (rows: number) => void,
  ): AsyncGenerator<TupleChunk, void, void> {
    // The database declares the column types. So, unlike for files, a second read with wider types is never needed.
    if (this.#readStatements.has(statement))
      throw new Error('Internal error: the rows of a database statement were requested twice.')
    this.#readStatements.add(statement)
    const thread = this.#thread
    thread.send({ kind: 'rows', statement, types })
    let isComplete = false
    try {
      for (;;) {
        const message = await thread.receive()
        if (message.kind === 'done') {
          this.log(message.notes)
          onEnd(message.rows)
          isComplete = true
          return
        }
        if (message.kind !== 'batch') continue
        const { tuples, rejected, totals } = message
        for (const row of rejected) this.#report.reject(this.#nameTable(statement, row))
        this.#report.progress(totals)
        if (tuples.length > 0)
          yield { bytes: tuples, release: () => thread.send({ kind: 'reuse', memory: tuples.buffer }, [tuples.buffer]) }
        thread.send({ kind: 'more' })
      }
    } finally {
      if (!isComplete) await thread[Symbol.asyncDispose]()
    }
  }

  /** Ends the thread. Call it after the last statement. */
  end(): void {
    this.#thread.send({ kind: 'end' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]()
  }

  log(notes: readonly ReadNote[]): void {
    for (const { level, message } of notes) this.#report.log(level, level === 'WARN' ? 'MEDIUM' : 'LOW', message)
  }

  /** Adds the table's name to a rejected row if there are several tables, because lines are counted per table. */
  #nameTable(statement: number, row: RejectedRow): RejectedRow {
    if (this.#statements.length === 1) return row
    return { ...row, reason: `${formatStatementName(this.#statements[statement]!)}: ${row.reason}` }
  }
}

/** Starts a thread that reads a database. The connection closes when the thread ends. */
function startDatabaseThread(job: DatabaseJob, signal: AbortSignal): ReadingThread<DatabaseMessage, DatabaseCommand> {
  const { kind, host } = job.config
  const options = {
    program: new URL('./database-thread.ts', import.meta.url),
    name: kind,
    job,
    reading: `the database at ${host}`,
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
    env: createThreadEnvironment(),
    cancellation: {
      command: { kind: 'cancel' } satisfies DatabaseCommand,
      // A cancelled run must end within five seconds.
      milliseconds: 2_500,
      lastMessage: 'finished',
    },
  }
  const thread = new ReadingThread<DatabaseMessage, DatabaseCommand>(options, signal)
  // The thread needs the memory of the spare threads, which wait for other jobs.
  suspendSpareThreads(thread.ended)
  return thread
}

/**
 * Returns the environment variables of the thread. Leaves out those of this process, because drivers read passwords and
 * settings from some of them and would send them to the server. The only exception is the compile cache, which avoids
 * compiling the modules in each thread.
 */
function createThreadEnvironment(): Record<string, string> {
  // This is the subdirectory for the version of Node.js; the variable expects its parent directory.
  const directoryOfVersion = getCompileCacheDir()
  return directoryOfVersion ? { NODE_COMPILE_CACHE: dirname(directoryOfVersion) } : {}
}
