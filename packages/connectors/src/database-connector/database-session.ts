import type { Socket } from 'node:net'
import type { Column, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { TupleSink } from './tuple-sink.ts'
import type { CursorSource, IncrementRequest } from './increments/plan-increment.ts'
import type { RowFilter } from './increments/row-filter.ts'

/** The statement that one row stream reads: a query of the user, or a table. */
export type SourceStatement = { table: string; increment?: IncrementRequest } & (
  | { query: string }
  | { schema?: string; name: string }
)

/** Returns the statement as messages name it: the table as in the settings, or `the query`. */
export function formatStatementName(statement: SourceStatement): string {
  if ('query' in statement) return 'the query'
  return statement.schema ? `${statement.schema}.${statement.name}` : statement.name
}

/** A note about a stream for the log of the run. Each note is sent once. */
export interface ReadNote {
  level: 'INFO' | 'WARN'
  message: string
}

/** A column without its name in the warehouse, which is derived from all labels together. */
export type DescribedColumn = Omit<Column, 'name'>

export interface SessionParameters {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  limits: DatabaseLimits
  /** The sockets that were opened for the session. Their received bytes can be counted before the session exists. */
  openedSockets: Socket[]
}

/** A statement as the database describes it. No rows are read yet, and other statements may be described before they are. */
export interface DescribedStatement extends Pick<CursorSource, 'findLargest'> {
  columns: DescribedColumn[]
  notes: ReadNote[]
  /** The database's estimate of the bytes of all rows. Absent if it has none. */
  bytes?: number
  /** Reads the rows that the filter includes. Returns notes about the rows. */
  read(types: readonly StoredType[], sink: TupleSink, filter: RowFilter): Promise<ReadNote[]>
}

/** A signed-in, read-only connection. Methods throw errors of the driver, which `classifyError` of the engine explains. */
export interface DatabaseSession extends AsyncDisposable, Pick<CursorSource, 'readClock'> {
  readonly notes: ReadNote[]
  /** Returns a number that grows while the database responds, such as the number of received bytes. */
  received(): number
  /** Returns the columns of a statement as the database describes them, without reading rows. */
  describe(statement: SourceStatement): Promise<DescribedStatement>
  /** Asks the database to stop the current query and ends the connection. Can be called at any time. */
  cancel(): Promise<void>
  /** Runs an operation. If it fails, the transaction and its snapshot stay usable. Absent if every error ends the transaction. */
  withSavepoint?<T>(operation: () => Promise<T>): Promise<T>
}

export interface DatabaseEngine {
  name: string
  open(access: SessionParameters): Promise<DatabaseSession>
  /**
   * Returns the problem code of an error. An unknown error of the database or its driver is STATEMENT_FAILED with the original
   * message. Returns undefined for an error that comes from neither.
   */
  classifyError(error: unknown, config: DatabaseConfig): ClassifiedError | undefined
}

/** Imports the engine of a database with its driver. `kind` is the folder of the connector, such as `mysql`. */
export async function loadEngine(kind: string): Promise<DatabaseEngine> {
  const { engine } = (await import(`../${kind}/${kind}-session.ts`)) as { engine: DatabaseEngine }
  return engine
}

export interface ClassifiedError {
  code: DatabaseProblemCode
  /** The database's message, if it helps to correct the statement. */
  detail?: string
}

export type DatabaseProblemCode =
  | 'HOST_UNKNOWN'
  | 'ADDRESS_NOT_ALLOWED'
  | 'CONNECTION_REFUSED'
  | 'CONNECTION_TIMEOUT'
  | 'CONNECTION_CLOSED'
  | 'CONNECTION_LOST'
  | 'TOO_MANY_CONNECTIONS'
  | 'OTHER_PROTOCOL'
  | 'TLS_NOT_OFFERED'
  | 'TLS_REQUIRED'
  | 'CERTIFICATE_NOT_TRUSTED'
  | 'AUTHENTICATION_FAILED'
  | 'DATABASE_MISSING'
  | 'PERMISSION_DENIED'
  | 'TABLE_MISSING'
  | 'NO_COLUMNS'
  | 'STATEMENT_INVALID'
  | 'STATEMENT_NOT_ALLOWED'
  | 'STATEMENT_FAILED'
  | 'SOURCE_SILENT'

/** The statement is not a query, or the connector cannot read this query for the reason in `detail`. */
export class StatementNotAllowedError extends Error {
  override readonly name = 'StatementNotAllowed'
  readonly detail: string | undefined

  constructor(detail?: string, options?: ErrorOptions) {
    super(detail ?? 'the statement is not a query', options)
    this.detail = detail
  }
}

/** A table exists, but has no columns that the login may see. */
export class NoColumnsError extends Error {
  override readonly name = 'NoColumns'
}

/** Throws if a statement returns no columns: it is not a query, or its table has none. */
export function assertHasColumns(columns: readonly unknown[], statement: SourceStatement): void {
  if (columns.length === 0) throw 'name' in statement ? new NoColumnsError() : new StatementNotAllowedError()
}

/** Returns the text of the statement. For a table, this is a query of its readable columns. `quoted` quotes a name in the syntax of the database. */
export function buildStatement(statement: SourceStatement, quoted: (name: string) => string, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select ${columns} from ${schema ? `${quoted(schema)}.` : ''}${quoted(name)}`
}

/**
 * Returns a query that evaluates expressions over the columns c1, c2 … of an inner query. The database has already parsed the inner query alone, so
 * it is complete: its brackets, quotes and comments cannot reach outside. A line break ends a line comment at its end.
 */
export function wrapQuery(query: string, expressions: readonly string[], columns: number, where = ''): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})${where}`
}
