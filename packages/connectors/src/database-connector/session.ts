import type { Socket } from 'node:net'
import type { Column, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { TupleSink } from './tuple-sink.ts'

/** The statement of one feed: a query of the user, or a table. */
export type SourceStatement = { table: string; query: string } | { table: string; schema?: string; name: string }

/** A note about a feed for the pipeline's owner; sent once. */
export interface ReadingNote {
  level: 'INFO' | 'WARN'
  message: string
}

/** A column before it has a name in the warehouse. */
export type DescribedColumn = Omit<Column, 'name'>

export interface SessionAccess {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  limits: DatabaseLimits
  /** Sockets opened for the session. They allow counting received bytes before the session exists. */
  opened: Socket[]
}

export interface DescribedStatement {
  columns: DescribedColumn[]
  notes: ReadingNote[]
  /** Bytes of its rows as the database estimates them; absent without an estimate. */
  bytes?: number
}

/** A signed-in, read-only connection. Throws the driver's errors; `problem` converts them to sentences. */
export interface DatabaseSession extends AsyncDisposable {
  readonly notes: ReadingNote[]
  /** Returns the bytes received so far, or another number that grows while the database responds. */
  received(): number
  /** Returns the columns of a statement as the database describes them; reads no row. */
  describe(statement: SourceStatement): Promise<DescribedStatement>
  /** Requests that the database stop the session's work; the session's connection then ends. May be called at any time. */
  cancel(): Promise<void>
  /** Reads the statement that was described last. Returns notes about the rows. */
  read(types: readonly StoredType[], sink: TupleSink): Promise<ReadingNote[]>
}

export interface DatabaseEngine {
  name: string
  open(access: SessionAccess): Promise<DatabaseSession>
  /**
   * Explains an error to the user who configured the source. An error of the database or its driver without a known
   * meaning is STATEMENT_FAILED with the original message; an error from neither is undefined.
   */
  explain(error: unknown, config: DatabaseConfig): ExplainedError | undefined
}

/** Imports the engine of a database with its driver. `kind` is the folder of the connector. */
export async function loadEngine(kind: string): Promise<DatabaseEngine> {
  const { engine } = (await import(`../${kind}/${kind}-session.ts`)) as { engine: DatabaseEngine }
  return engine
}

export interface ExplainedError {
  code: DatabaseProblemCode
  /** The database's message, if it helps. */
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
  | 'STATEMENT_INVALID'
  | 'STATEMENT_NOT_ALLOWED'
  | 'STATEMENT_FAILED'
  | 'SOURCE_SILENT'

/** The statement is not a query, or, as `detail` says, a query that cannot be read in this form. */
export class StatementNotAllowed extends Error {
  override readonly name = 'StatementNotAllowed'
  readonly detail: string | undefined

  constructor(detail?: string, options?: ErrorOptions) {
    super(detail ?? 'only queries are run', options)
    this.detail = detail
  }
}

/**
 * Returns the statement as one query; for a table, the query selects its readable columns. `quoted` quotes a name in the
 * database's syntax.
 */
export function statementText(statement: SourceStatement, quoted: (name: string) => string, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select ${columns} from ${schema ? `${quoted(schema)}.` : ''}${quoted(name)}`
}

/**
 * Returns a query that evaluates these expressions over another query whose columns are called c1, c2 …. The inner query was parsed
 * alone before, so it is one whole statement whose brackets, quotes and comments end inside it; a line comment ends at the line's end.
 */
export function embedQuery(query: string, expressions: readonly string[], columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index + 1}`).join(', ')
  return `select ${expressions.join(', ')} from (\n${query}\n) as source(${names})`
}
