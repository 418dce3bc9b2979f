import type { SqlLanguage } from '../sql-text/resolve-table-names.ts'
import type { TablePlace } from '../catalog.ts'
import type { RowCell, RowContent, StoredType, WarehouseColumn } from '../warehouse.ts'
import type { SqlStatement } from './sql-statement.ts'

/**
 * The user of a session. `service` is the operator's user, which creates and publishes tables. Users' SQL, and every
 * query of their rows, runs as one of the organisation's own users: `load` (transformations, filling views) or `read`
 * (queries).
 */
export type SessionRole = 'service' | 'load' | 'read'

/** A type as the server's catalogue prints it, without its nullability. */
export type SqlType = string

export interface SessionOptions {
  role: SessionRole
  /** The search path for unqualified names, in order. The schemas have the organisation's names for them. */
  schemas?: readonly string[]
  /** An abort ends the running statement, also at the server. */
  signal?: AbortSignal | undefined
  /** The time limit of a statement in seconds. Default: the server's limit. */
  seconds?: number
}

/**
 * One connection of one database user. Disposing closes it and ends its statement at the server. Methods throw the
 * driver's errors; `Dialect.explain` converts them to problems.
 */
export interface SqlSession extends AsyncDisposable {
  execute(statement: SqlStatement): Promise<void>
  /** Runs an internal query with a small result. Values are numbers where a number is exact, otherwise text. */
  rows<Row>(statement: SqlStatement): Promise<Row[]>
  /**
   * Runs `callback` in a transaction. Row changes are atomic. `Dialect.publication` says whether changes of tables and
   * views are atomic too.
   */
  transaction<Result>(callback: () => Promise<Result>): Promise<Result>
  /**
   * Reads the result of one query in batches, never as a whole. `text` may be a user's query, so the server must reject
   * anything that is more than one query, or that writes. `values` replace `$1`, `$2`, ….
   */
  read(text: string, values: readonly (string | null)[], batch: BatchLimits): AsyncIterable<ReadRows>
  /** Returns the result columns of such a query. Does not run the query if the server can describe it. */
  columns(text: string): Promise<readonly ReadColumn[]>
  /**
   * Returns the server's plan of such a query as lines of text, without running it. Absent if the server's users must
   * not see plans.
   */
  plan?(text: string): Promise<string>
}

export interface BatchLimits {
  rows: number
  /** Returns the number of bytes that the caller can still take. A batch should not be much larger. */
  bytes(): number
}

/**
 * One batch of rows. `columns` are the same in every batch. An empty result has one batch without rows. `bytes` is the
 * approximate size of the rows.
 */
export interface ReadRows {
  columns: ReadColumn[]
  rows: RowCell[][]
  bytes: number
}

export interface ReadColumn extends Pick<WarehouseColumn, 'name' | 'dataType' | 'precision' | 'scale'> {
  type: SqlType
}

/**
 * Formats names as SQL. A `TablePlace` contains the organisation's names for schema and table; the dialect converts
 * them to the server's names.
 */
export interface DialectNames {
  quoted(name: string): string
  /** Returns a SQL literal: a number as it is, any other value as a string. */
  literal(value: string | null): string
  /** Returns the full SQL name of a table or view. */
  place(place: TablePlace): string
  /** Returns the SQL name of a ledger table. The organisations' users can neither read nor write it. */
  ledger(table: string): string
  /** Throws INVALID_NAME for names that `check-identifier.ts` accepts, but this server does not. */
  check(kind: 'schema' | 'table' | 'column', name: string): void
}

/** Maps Sluice's column types to those of the warehouse, and back. */
export interface DialectTypes {
  sqlType(column: StoredType): SqlType
  /** Returns Sluice's data type. TEXT for a type that loads never create, because it is shown as text. */
  describe(type: SqlType): StoredType
  /** Returns the narrowest type that stores every value of both types. Text is the last resort. */
  widest(one: SqlType, other: SqlType): SqlType
  isText(type: SqlType): boolean
  /** The type for texts of any length, used in Sluice's own tables. */
  longText: SqlType
}

export interface NewColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** A table or view as listed in the server's catalogue. */
export interface CatalogRelation extends TablePlace {
  /** The object id. It survives renames and moves, and is never reused. */
  id: string
  kind: 'TABLE' | 'VIEW'
}

export interface CatalogColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** A column as listed in the server's catalogue. */
export interface CatalogColumnName {
  schema: string
  table: string
  column: string
  type: SqlType
}

/** Queries the organisation's part of the server's catalogue. `session` has the role `service`. */
export interface DialectCatalog {
  schemas(session: SqlSession): Promise<string[]>
  /**
   * Lists the relations of these schemas, or of all the organisation's schemas. Includes hidden relations; unsorted.
   */
  relations(session: SqlSession, schemas?: readonly string[]): Promise<CatalogRelation[]>
  /** Returns the columns in the table's order. */
  columns(session: SqlSession, relation: CatalogRelation): Promise<CatalogColumn[]>
  /**
   * Lists the columns in these schemas with names that start with `prefix`, ignoring case. Includes columns of hidden
   * relations; unsorted.
   */
  columnNames(session: SqlSession, schemas: readonly string[], prefix: string): Promise<CatalogColumnName[]>
  /** Returns the views that read the relation directly. Absent if the server does not record dependencies. */
  readers?(session: SqlSession, relation: CatalogRelation): Promise<CatalogRelation[]>
  /** Returns the size of a table on disk in bytes, as exactly as the server knows it. */
  bytes(session: SqlSession, relation: CatalogRelation): Promise<number>
}

/** SQL statements that differ between servers. */
export interface DialectStatements {
  createSchema(schema: string): SqlStatement[]
  dropSchema(schema: string): SqlStatement[]
  createTable(place: TablePlace, columns: readonly NewColumn[]): SqlStatement
  dropTable(place: TablePlace): SqlStatement
  dropColumn(place: TablePlace, column: string): SqlStatement
  dropView(place: TablePlace): SqlStatement
  /** Renames a table or view within its schema. Fails if the name is taken. */
  rename(from: TablePlace, to: string): SqlStatement
  /**
   * Creates a view from a user's query. It runs with the rights of role `load`, so readers cannot read more through it
   * than `load` may.
   */
  createView(place: TablePlace, text: string): SqlStatement[]
  /**
   * Changes the query of an existing view atomically: readers see the old or the new one. Required for
   * NON_TRANSACTIONAL publication.
   */
  changeView?(place: TablePlace, text: string): SqlStatement[]
  /** Inserts the rows of a query into a table. The nth column of the query goes into the nth of `columns`. */
  insert(place: TablePlace, columns: readonly string[], query: string): SqlStatement[]
  /** Grants the organisation's users access to a table: READ for reading, FILL if `load` may also write. */
  grant(place: TablePlace, to: 'READ' | 'FILL'): SqlStatement[]
  /** Blocks other publications of this organisation until the transaction ends. */
  lockLedger(): SqlStatement[]
  /** SQL after the column list of ledger tables, which are small and updated row by row. Default: none. */
  ledgerOptions?: string
}

export interface TableFill {
  place: TablePlace
  /** The columns of the table. They have the same order as the values of a tuple. */
  columns: readonly (NewColumn & { label: string; stored: StoredType })[]
  run: string
  attempt: number
  /** The table's name in messages. */
  quotedPlace: string
}

/** One page of a table. If `order` is empty, the server chooses the row order. */
export interface TablePage {
  limit: number
  offset: number
  order: readonly string[]
}

/** The problem for an error of the server or its driver. Each warehouse lists the codes in `map-server-errors.ts`. */
export interface ServerProblem {
  code: string
  sentence: (qualifiedName: string) => string
  retryable?: boolean
}

export interface QueryProblem {
  code: 'QUERY_FAILED' | 'QUERY_TIMEOUT' | 'SQL_NOT_ALLOWED' | 'RESULT_TOO_LARGE' | 'TABLE_BUSY'
  /** The server's message, without the SQL that Sluice adds to the user's query. */
  message: string
  /** The line in the user's query text, from 1. */
  line?: number
  column?: number
}

/**
 * Everything that differs between SQL servers, for one organisation. The other files of this folder contain the common
 * parts: ledger, column changes, publication, merging, transformations, previews of staged rows, views, queries with
 * limits, maintenance.
 */
export interface SqlDialect {
  readonly names: DialectNames
  readonly types: DialectTypes
  readonly catalogue: DialectCatalog
  readonly changes: DialectStatements
  /**
   * The mechanism that makes a publication atomic. TRANSACTION: the server has transactional DDL, so tables, views and
   * the ledger (Sluice's table of loads) change in one transaction. NON_TRANSACTIONAL: transactions cover only rows, so
   * a ledger row records the decision and any process can apply it, see `publication-recovery.ts`. Such a server must
   * be able to rename tables without dropping their views.
   */
  readonly publication: 'TRANSACTION' | 'NON_TRANSACTIONAL'
  /**
   * The mechanism that resolves unqualified table names. PATH: the server searches `SessionOptions.schemas`. REWRITTEN:
   * the server cannot, so Sluice adds the schema to each table name after FROM, JOIN, INTO, UPDATE and similar
   * keywords.
   */
  readonly bareNames: 'PATH' | 'REWRITTEN'
  open(opening: SessionOptions): Promise<SqlSession>
  /**
   * Creates or repairs the organisation's schemas and users on the server. Idempotent. Does not create the ledger's
   * tables; `ensureLedger` does.
   */
  provision(): Promise<void>
  /** Streams rows into an empty table with back-pressure. Call it once. Rethrows an error of the content unchanged. */
  copyRows(filling: TableFill, content: RowContent, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  /**
   * Removes data that the row copies of dead runs left outside the server. Default: does nothing. Lists the data first
   * and the live runs second, so a run that starts in between keeps its data.
   */
  sweep?(listLiveRuns: () => Promise<ReadonlySet<string>>): Promise<void>
  /** Converts an error of the server or driver to a problem. Returns undefined for any other error. */
  explain(error: unknown): ServerProblem | undefined
  explainQuery(error: unknown, seconds: number): QueryProblem | undefined
  /** The SQL syntax of this server. Default: that of ClickHouse and PostgreSQL. */
  readonly language?: SqlLanguage
  /** Returns a query for one page of a table with all its columns, with `limit` and `offset` in the server's syntax. */
  page(place: TablePlace, columns: readonly string[], page: TablePage): string
  /**
   * For servers with tables that do not preserve insertion order: adds a column with each row's position in the query's
   * order. Returns undefined for a query without an order.
   */
  numberRows?(query: string, columns: readonly ReadColumn[]): string | undefined
}
