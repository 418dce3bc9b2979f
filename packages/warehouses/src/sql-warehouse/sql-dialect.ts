import type { SqlLanguage } from '../sql-text/sql-names.ts'
import type { TablePlace } from '../catalog.ts'
import type { RowCell, RowContent, StoredType, WarehouseColumn } from '../warehouse.ts'
import type { SqlStatement } from './sql-statement.ts'

/**
 * The user of a session. `service` is the operator's user, which creates and publishes tables. Users' SQL and every query over
 * their rows runs as the client's own users: `load` (transformations, filling of views) or `read` (queries).
 */
export type SessionRole = 'service' | 'load' | 'read'

/** A type as the server's catalogue prints it, excluding nullability. */
export type SqlType = string

export interface SessionOptions {
  role: SessionRole
  /** The search path for unqualified names, in order, with the client's names of its schemas. */
  schemas?: readonly string[]
  /** An abort ends the running statement, at the server too. */
  signal?: AbortSignal | undefined
  /** The time limit of a statement in seconds. Default: the server's own limit. */
  seconds?: number
}

/**
 * One connection with one user at a time. Disposing closes it and ends its statement at the server. Throws the driver's errors;
 * `Dialect.explain` turns them into messages.
 */
export interface SqlSession extends AsyncDisposable {
  execute(statement: SqlStatement): Promise<void>
  /** Runs an internal query with a small result. Values are numbers where numbers are exact, otherwise text. */
  rows<Row>(statement: SqlStatement): Promise<Row[]>
  /** Changes of rows by `callback` are atomic; `Dialect.publication` defines whether changes of tables and views are. */
  transaction<Result>(callback: () => Promise<Result>): Promise<Result>
  /**
   * Reads the result of one query in batches, never all of it at once. `text` may be a user's query or contain parts of one, so
   * the server must reject a text that is more than one query, and a query that writes. `values` replace `$1` ….
   */
  read(text: string, values: readonly (string | null)[], batch: BatchLimits): AsyncIterable<ReadRows>
  /** Returns the columns of such a query without values. Does not run the query if the server can describe it. */
  columns(text: string): Promise<readonly ReadColumn[]>
  /** Returns the server's plan of such a query in lines, without running it. Absent if the server's users may not see plans. */
  plan?(text: string): Promise<string>
}

export interface BatchLimits {
  rows: number
  /** The bytes that the caller may still read; a batch should not be much larger. */
  bytes(): number
}

/** `columns` are the same in every batch. An empty result has one batch without rows. `bytes` is the approximate size of the rows. */
export interface ReadRows {
  columns: ReadColumn[]
  rows: RowCell[][]
  bytes: number
}

export interface ReadColumn extends Pick<WarehouseColumn, 'name' | 'dataType' | 'precision' | 'scale'> {
  type: SqlType
}

/** Formats names as SQL. A place has the client's names; the dialect maps them to the server's. */
export interface DialectNames {
  quoted(name: string): string
  /** Returns a literal of a value: a number as it is, any other value as a string. */
  literal(value: string | null): string
  /** Returns the full SQL name of a table or view. */
  place(place: TablePlace): string
  /** The place of a table of the ledger, which users of clients can neither read nor write. */
  ledger(table: string): string
  /** Throws INVALID_NAME for names that `check-identifier.ts` accepts and the server of this dialect does not. */
  check(kind: 'schema' | 'table' | 'column', name: string): void
}

/** Maps Sluice's column types to those of the warehouse, and back. */
export interface DialectTypes {
  sqlType(column: StoredType): SqlType
  /** Returns the type's name in the API; TEXT for a type that loads never create and that is shown as text. */
  describe(type: SqlType): StoredType
  /** Returns the narrowest type that keeps every value of both; text as the last resort. */
  widest(one: SqlType, other: SqlType): SqlType
  isText(type: SqlType): boolean
  /** The type for texts of any length in the service's own tables. */
  longText: SqlType
}

export interface NewColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** A table or view as the server's catalogue describes it. */
export interface CatalogRelation extends TablePlace {
  /** The id survives renames and moves, and is never reused. */
  id: string
  kind: 'TABLE' | 'VIEW'
}

export interface CatalogColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** A column as the server's catalogue names it. */
export interface CatalogColumnName {
  schema: string
  table: string
  column: string
  type: SqlType
}

/** Queries over this client's part of the server's catalogue. `session` has role `service`. */
export interface DialectCatalog {
  schemas(session: SqlSession): Promise<string[]>
  /** Lists the relations of these schemas, or of all the client's schemas; unordered, including hidden ones. */
  relations(session: SqlSession, schemas?: readonly string[]): Promise<CatalogRelation[]>
  /** Returns the columns in the table's order. */
  columns(session: SqlSession, relation: CatalogRelation): Promise<CatalogColumn[]>
  /** Lists the columns in these schemas with names that begin with `prefix`, in any case; unordered, including those of hidden relations. */
  columnNames(session: SqlSession, schemas: readonly string[], prefix: string): Promise<CatalogColumnName[]>
  /** Returns the views that read it directly, if the server records dependencies; otherwise none. */
  readers?(session: SqlSession, relation: CatalogRelation): Promise<CatalogRelation[]>
  /** Returns the bytes on disk of a table, as exactly as the server knows them. */
  bytes(session: SqlSession, relation: CatalogRelation): Promise<number>
}

/** The statements that differ from server to server. */
export interface DialectStatements {
  createSchema(schema: string): SqlStatement[]
  dropSchema(schema: string): SqlStatement[]
  createTable(place: TablePlace, columns: readonly NewColumn[]): SqlStatement
  dropTable(place: TablePlace): SqlStatement
  dropColumn(place: TablePlace, column: string): SqlStatement
  dropView(place: TablePlace): SqlStatement
  /** Renames a table or view within its schema. Fails if the name is taken. */
  rename(from: TablePlace, to: string): SqlStatement
  /** Creates a view of a user's text that runs with the rights of role `load`: its readers get no more rights than that user has. */
  createView(place: TablePlace, text: string): SqlStatement[]
  /** Changes the text of an existing view: readers see the old one or the new one. Only with NON_TRANSACTIONAL publication. */
  changeView?(place: TablePlace, text: string): SqlStatement[]
  /** Inserts the rows of a query into a table; the nth column of the query goes into the nth of `columns`. */
  insert(place: TablePlace, columns: readonly string[], query: string): SqlStatement[]
  /** Grants users of the client access: READ for a table that they may read, FILL for one that `load` also writes. */
  grant(place: TablePlace, to: 'READ' | 'FILL'): SqlStatement[]
  /** Blocks other publications of this client until the transaction ends. */
  lockLedger(): SqlStatement[]
  /** SQL after the columns of the ledger's tables, which are small and updated row by row; empty by default. */
  ledgerOptions?: string
}

export interface TableFill {
  place: TablePlace
  /** The columns of the table, in the order of the tuples. */
  columns: readonly (NewColumn & { label: string; stored: StoredType })[]
  run: string
  attempt: number
  /** The table's name in messages. */
  quotedPlace: string
}

/** If `order` is empty, the server determines the order of the rows. */
export interface TablePage {
  limit: number
  offset: number
  order: readonly string[]
}

/** The problem to which an error of the server or its driver is translated. The `problems.ts` files of the warehouses list the codes. */
export interface ServerProblem {
  code: string
  sentence: (qualifiedName: string) => string
  retryable?: boolean
}

export interface QueryProblem {
  code: 'QUERY_FAILED' | 'QUERY_TIMEOUT' | 'SQL_NOT_ALLOWED' | 'RESULT_TOO_LARGE' | 'TABLE_BUSY'
  /** The server's own message, without the service's SQL around the user's text. */
  message: string
  /** The line in the user's text, from 1. */
  line?: number
  column?: number
}

/**
 * Everything that differs from one SQL server to another, for one client. This folder contains the common parts: ledger, column
 * changes, publication, merging, transformations, previews of staged rows, views, queries with limits, sweeping.
 */
export interface SqlDialect {
  readonly names: DialectNames
  readonly types: DialectTypes
  readonly catalogue: DialectCatalog
  readonly changes: DialectStatements
  /**
   * How a publication becomes atomic. TRANSACTION: the server has transactional DDL, so tables, views and the ledger change in one
   * transaction. NON_TRANSACTIONAL: transactions only cover rows, so a ledger row records the decision, and any process can apply
   * it, see `recovery.ts`. Such a server must be able to rename tables without dropping the views over them.
   */
  readonly publication: 'TRANSACTION' | 'NON_TRANSACTIONAL'
  /**
   * PATH: the server resolves unqualified names in `SessionOptions.schemas`. REWRITTEN: the server cannot, so this service
   * qualifies each table name after FROM, JOIN, INTO, UPDATE and similar keywords in users' SQL.
   */
  readonly bareNames: 'PATH' | 'REWRITTEN'
  open(opening: SessionOptions): Promise<SqlSession>
  /** Creates or repairs the client's part of the server and its users. Idempotent. The core creates the ledger's tables. */
  provision(): Promise<void>
  /** Streams rows into an empty table, with back-pressure, once. Rethrows an error of the content unchanged. */
  copyRows(filling: TableFill, content: RowContent, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  /**
   * Removes data outside the server that row copies of dead runs left; does nothing by default. It lists the data first and reads
   * the live runs second, so a run that begins in between keeps its data.
   */
  sweep?(alive: () => Promise<ReadonlySet<string>>): Promise<void>
  /** Returns undefined for an error of neither the server nor the driver. */
  explain(error: unknown): ServerProblem | undefined
  explainQuery(error: unknown, seconds: number): QueryProblem | undefined
  /** The syntax of users' SQL, if it differs from that of ClickHouse and PostgreSQL. */
  readonly language?: SqlLanguage
  /** Returns a query for some rows of a table with all its columns, with `limit` and `offset` in the server's syntax. */
  page(place: TablePlace, columns: readonly string[], page: TablePage): string
  /**
   * For tables that do not preserve insertion order: returns the query with an additional column, each row's position in the
   * query's order. Undefined for a query without an order.
   */
  numberRows?(query: string, columns: readonly ReadColumn[]): string | undefined
}
