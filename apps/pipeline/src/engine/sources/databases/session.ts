import type { Socket } from 'node:net'
import type { FeedColumn, StoredType } from '../source.ts'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { ReadingNote, SourceStatement } from './protocol.ts'
import type { TupleSink } from './tuple-sink.ts'

/** A column before it has a name in the warehouse. */
export type DescribedColumn = Omit<FeedColumn, 'name'>

export interface SessionAccess {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  limits: DatabaseLimits
  /** Sockets that were opened for it: what comes through them is heard of before there is a session. */
  opened: Socket[]
}

export interface DescribedStatement {
  columns: DescribedColumn[]
  notes: ReadingNote[]
  /** Bytes that its rows come to, by the database's own estimate, where it gives one. */
  bytes?: number
}

/** A connection that is signed in and reads only. Throws what the driver throws; `problem` makes sentences of that. */
export interface DatabaseSession extends AsyncDisposable {
  readonly notes: ReadingNote[]
  /** Bytes received so far, or anything else that grows while the database answers. */
  received(): number
  /** The columns of a statement by the database's own account; no row is read yet. */
  describe(statement: SourceStatement): Promise<DescribedStatement>
  /** Asks the database to stop what it does for this session, whose connection ends then. May be called at any time. */
  cancel(): Promise<void>
  /** Reads the statement that was described last, and answers what is to be known about it. */
  read(types: readonly StoredType[], sink: TupleSink): Promise<ReadingNote[]>
}

export interface DatabaseEngine {
  name: string
  open(access: SessionAccess): Promise<DatabaseSession>
  /**
   * What an error means to whoever configured the source. What the database or its driver says and nobody here knows is
   * STATEMENT_FAILED in its own words; undefined when it comes from neither.
   */
  explain(error: unknown, config: DatabaseConfig): ExplainedError | undefined
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

/** The statement is something else than a query, or, as `message` says, a query that cannot be read as it stands. */
export class StatementNotAllowed extends Error {
  override readonly name = 'StatementNotAllowed'

  constructor(message = 'only queries are run', options?: ErrorOptions) {
    super(message, options)
  }
}

/** What is read, as one query; of a table, which columns of it. `quoted` is a name as the database quotes it. */
export function statementText(statement: SourceStatement, quoted: (name: string) => string, columns = '*'): string {
  if ('query' in statement) return statement.query.replace(/[;\s]+$/, '')
  const { schema, name } = statement
  return `select ${columns} from ${schema ? `${quoted(schema)}.` : ''}${quoted(name)}`
}
