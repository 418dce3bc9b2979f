import type { Socket } from 'node:net'
import type { Column, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { TupleSink } from './tuple-sink.ts'
import type { CursorSource, IncrementRequest } from './increments/plan-increment.ts'
import type { RowFilter } from './increments/row-filter.ts'

/** The statement of one row stream: a user's query, or a table. */
export type SourceStatement = { table: string; increment?: IncrementRequest } & (
  | { query: string }
  | { schema?: string; name: string }
)

/** Formats the statement for messages: the table's name from the settings, or `the query`. */
export function formatStatementName(statement: SourceStatement): string {
  if ('query' in statement) return 'the query'
  return statement.schema ? `${statement.schema}.${statement.name}` : statement.name
}

/** A note about a stream for the run's log. Each note is sent once. */
export interface ReadNote {
  level: 'INFO' | 'WARN'
  message: string
}

/**
 * A column without its name in the warehouse. Names are derived later from all labels together, because they must be
 * unique.
 */
export type DescribedColumn = Omit<Column, 'name'>

export interface SessionParameters {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  limits: DatabaseLimits
  /**
   * The sockets opened for the session. Their received bytes are counted even before the session exists, for the
   * silence timeout.
   */
  openedSockets: Socket[]
}

/**
 * A statement that the database has described, that is, named its columns. Its rows are not read yet, and other
 * statements may be described first.
 */
export interface DescribedStatement extends Pick<CursorSource, 'findLargest'> {
  columns: DescribedColumn[]
  notes: ReadNote[]
  /** The database's estimate of the total bytes of all rows. Absent if the database has no estimate. */
  estimatedBytes?: number
  /** Reads the rows that match the filter into the sink. Returns notes about the rows. */
  read(types: readonly StoredType[], sink: TupleSink, filter: RowFilter): Promise<ReadNote[]>
}

/**
 * A read-only connection after login. Methods throw the driver's errors, which `classifyError` of the engine
 * classifies.
 */
export interface DatabaseSession extends AsyncDisposable, Pick<CursorSource, 'readClock'> {
  readonly notes: ReadNote[]
  /**
   * Returns a number that grows while the database responds, such as the number of received bytes. The silence timeout
   * uses it.
   */
  received(): number
  /** Returns the columns of a statement without reading rows. */
  describe(statement: SourceStatement): Promise<DescribedStatement>
  /** Requests the database to stop the current query, and closes the connection. Can be called at any time. */
  cancel(): Promise<void>
  /**
   * Runs an operation that may fail without ending the transaction and its snapshot. Absent if every error ends the
   * transaction.
   */
  withSavepoint?<T>(operation: () => Promise<T>): Promise<T>
}

export interface DatabaseEngine {
  name: string
  open(parameters: SessionParameters): Promise<DatabaseSession>
  /**
   * Returns the problem code for an error. An unknown error of the database or driver becomes STATEMENT_FAILED with the
   * original message. Returns undefined for any other error.
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
  /** The database's own message. Set if it helps the user to correct the statement. */
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

/** The statement is not a query, or the connector cannot read this query. `detail` contains the reason. */
export class StatementNotAllowedError extends Error {
  override readonly name = 'StatementNotAllowed'
  readonly detail: string | undefined

  constructor(detail?: string, options?: ErrorOptions) {
    super(detail ?? 'the statement is not a query', options)
    this.detail = detail
  }
}

/** The table exists, but the login may not see any of its columns. */
export class NoColumnsError extends Error {
  override readonly name = 'NoColumns'
}

/**
 * Throws if a statement returns no columns: either it is not a query, or the login may not see any column of its table.
 */
export function assertHasColumns(columns: readonly unknown[], statement: SourceStatement): void {
  if (columns.length > 0) return
  const isTable = 'name' in statement
  throw isTable ? new NoColumnsError() : new StatementNotAllowedError()
}

/**
 * Returns the SQL of the statement. A query is returned without semicolons at its end. For a table, the SQL selects
 * `columns`. `quoteName` quotes a name in the database's syntax.
 */
export function buildStatement(statement: SourceStatement, quoteName: (name: string) => string, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  const schemaPrefix = schema ? `${quoteName(schema)}.` : ''
  return `select ${columns} from ${schemaPrefix}${quoteName(name)}`
}

/**
 * Embeds a query as a subquery with columns c1, c2, … and returns a query that evaluates expressions over them. The
 * database has already parsed the inner query alone, so its brackets, quotes and comments are complete and cannot
 * affect the outer query. A line break after it ends a trailing line comment.
 */
export function wrapQuery(
  query: string,
  expressions: readonly string[],
  columnCount: number,
  whereClause = '',
): string {
  const names = Array.from({ length: columnCount }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})${whereClause}`
}
