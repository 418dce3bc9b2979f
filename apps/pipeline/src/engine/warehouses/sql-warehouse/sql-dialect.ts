import type { SqlLanguage } from '../sql-names.ts'
import type { TablePlace } from '../views.ts'
import type { RowCell, LoadContent, StoredType, WarehouseColumn } from '../warehouse.ts'
import type { Sql } from './sql.ts'

/**
 * Who asks. `service` is the operator's user: it makes and publishes. SQL of users and every question about their rows runs as the
 * client's own `load` (transformations, the filling of views) or `read` (queries).
 */
export type SessionRole = 'service' | 'load' | 'read'

/** A type of the server as its catalogue prints it, without anything about NULL. */
export type SqlType = string

/** What a connection is opened for. */
export interface SessionOptions {
  role: SessionRole
  /** Where names without a schema are looked for, in this order, as the client calls its schemas. */
  schemas?: readonly string[]
  /** Ends what runs, at the server too. */
  signal?: AbortSignal | undefined
  /** The most that a statement may take; where it is absent, what the server allows. */
  seconds?: number
}

/**
 * One connection that nobody else uses. Disposing closes it, and what it was doing ends at the server. Throws what the driver throws;
 * `Dialect.explain` makes sentences of that.
 */
export interface Session extends AsyncDisposable {
  /** One statement. */
  execute(statement: Sql): Promise<void>
  /** A few rows of our own asking, with numbers where they are exact and text else. */
  rows<Row>(statement: Sql): Promise<Row[]>
  /** What `work` does to rows is done all or not at all; what it does to tables and views as `Dialect.publication` says. */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>
  /**
   * Reads one query in batches, never all of it at once. The text is a user's or begins and ends with one: the server has to refuse
   * whatever is more than a query, and whatever writes. `$1` … in it are `values`.
   */
  read(text: string, values: readonly (string | null)[], batch: BatchLimits): AsyncIterable<ReadRows>
  /** What columns such a query without values has. It is not run where the server can tell without. */
  columns(text: string): Promise<readonly ReadColumn[]>
}

/** How much is fetched at once. */
export interface BatchLimits {
  rows: number
  /** What is left of the caller's cap: a batch should not be much larger. */
  bytes(): number
}

/** `columns` are of every batch the same; the first comes also where there are no rows. `bytes` is what the rows came to, about. */
export interface ReadRows {
  columns: ReadColumn[]
  rows: RowCell[][]
  bytes: number
}

export interface ReadColumn extends Pick<WarehouseColumn, 'name' | 'dataType' | 'precision' | 'scale'> {
  type: SqlType
}

/** How names are written. A place is as the client calls it; what the server calls it is the dialect's matter. */
export interface DialectNames {
  quoted(name: string): string
  /** A value inside a text: a number as it is, anything else as a string. */
  literal(value: string | null): string
  /** A table or view as SQL takes it from anywhere. */
  place(place: TablePlace): string
  /** Of ours, where no user of a client reads or writes: the ledger. */
  ledger(table: string): string
  /** Throws INVALID_NAME, beyond what `identifiers.ts` refuses for all. */
  check(kind: 'schema' | 'table' | 'column', name: string): void
}

/** Types both ways. */
export interface DialectTypes {
  sqlType(column: StoredType): SqlType
  /** What a type is called on the wire; TEXT for one that we never make and show as text. */
  describe(type: SqlType): StoredType
  /** The narrowest type that keeps every value of both; text at the end. */
  widest(one: SqlType, other: SqlType): SqlType
  isText(type: SqlType): boolean
  /** For texts of any length, in our own tables. */
  longText: SqlType
}

/** A column of a table that is to be made. */
export interface NewColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** A table or view as the server's catalogue has it. */
export interface CatalogRelation extends TablePlace {
  /** Stays the same when it is renamed or moved, and is never given again. */
  id: string
  kind: 'TABLE' | 'VIEW'
}

export interface CatalogColumn {
  name: string
  type: SqlType
  nullable: boolean
}

/** What is asked of the server's catalogue, of this client's part alone. `session` is of role `service`. */
export interface DialectCatalog {
  schemas(session: Session): Promise<string[]>
  /** Of these schemas, or of all the client's; without an order, hidden ones included. */
  relations(session: Session, schemas?: readonly string[]): Promise<CatalogRelation[]>
  /** In their order. */
  columns(session: Session, relation: CatalogRelation): Promise<CatalogColumn[]>
  /** Views that read it at once, as far as the server keeps that; none where it does not. */
  readers?(session: Session, relation: CatalogRelation): Promise<CatalogRelation[]>
  /** Bytes on disk of a table, as well as the server knows. */
  bytes(session: Session, relation: CatalogRelation): Promise<number>
}

/** Statements that every server has under another name. */
export interface DialectStatements {
  createSchema(schema: string): Sql[]
  dropSchema(schema: string): Sql[]
  createTable(place: TablePlace, columns: readonly NewColumn[]): Sql
  dropTable(place: TablePlace): Sql
  dropColumn(place: TablePlace, column: string): Sql
  dropView(place: TablePlace): Sql
  /** A table or view under another name in its own schema. Fails where the name is taken. */
  rename(from: TablePlace, to: string): Sql
  /** A view of a user's text, `role load`'s rights behind it: whoever reads it gets no more than that user. */
  createView(place: TablePlace, text: string): Sql[]
  /** Gives a view that is there another text: readers see the one or the other. Where publication is NON_TRANSACTIONAL. */
  changeView?(place: TablePlace, text: string): Sql[]
  /** Puts the rows of a query into a table, column by column. */
  insert(place: TablePlace, columns: readonly string[], query: string): Sql[]
  /** What users of the client may do with a table that is theirs to read; for one that `load` fills, to write as well. */
  grant(place: TablePlace, to: 'READ' | 'FILL'): Sql[]
  /** Lets no other publication of this client go on until the transaction ends. */
  lockLedger(): Sql[]
  /** Behind the columns of the ledger's tables, which are small and changed row by row; nothing by default. */
  ledgerOptions?: string
}

/** Where rows go in. */
export interface TableFill {
  place: TablePlace
  /** Of the table, in the order of the tuples. */
  columns: readonly (NewColumn & { label: string; stored: StoredType })[]
  run: string
  attempt: number
  /** As sentences call the table. */
  shown: string
}

/** Without an order as the server has the rows. */
export interface TablePage {
  limit: number
  offset: number
  order: readonly string[]
}

/** What an error of the server or its driver means: see `problems` of the other warehouses for the codes. */
export interface ServerProblem {
  code: string
  sentence: (place: string) => string
  retryable?: boolean
}

/** What went wrong with SQL that a user wrote. */
export interface QueryProblem {
  code: 'QUERY_FAILED' | 'QUERY_TIMEOUT' | 'SQL_NOT_ALLOWED' | 'RESULT_TOO_LARGE' | 'TABLE_BUSY'
  /** The server's own, without our frame around the text. */
  words: string
  /** In the user's text, from 1. */
  line?: number
  column?: number
}

/**
 * What differs from one SQL server to the next, for one client of it. Everything else that a warehouse does is in this folder once:
 * the ledger, evolution of tables, publication, merging, transformations, rehearsals, views, queries with their caps, sweeping.
 */
export interface Dialect {
  readonly names: DialectNames
  readonly types: DialectTypes
  readonly catalogue: DialectCatalog
  readonly changes: DialectStatements
  /**
   * TRANSACTION: tables, views and the ledger change in one transaction. NON_TRANSACTIONAL: there is none over tables and views, only over rows; so a
   * row of the ledger decides, and whoever looks next finishes what was decided. Such a server needs no views dropped to rename what they read.
   */
  readonly publication: 'TRANSACTION' | 'NON_TRANSACTIONAL'
  /**
   * PATH: the server looks bare names up in `Opening.schemas`. REWRITTEN: it cannot, so users' SQL gets the whole name of each table
   * behind FROM, JOIN, INTO, UPDATE and the like.
   */
  readonly bareNames: 'PATH' | 'REWRITTEN'
  open(opening: SessionOptions): Promise<Session>
  /** Makes the client's part of the server and its users, or mends them. Idempotent. The ledger's tables are made by the core. */
  provision(): Promise<void>
  /** Streams rows into an empty table, with back-pressure, once. An error of the content comes out as it is. */
  copyRows(filling: TableFill, content: LoadContent, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
  /**
   * Clears away what fillings of runs that are not alive left outside the server; nothing by default. Lists first, asks second: a run that
   * begins meanwhile keeps what is its own.
   */
  sweep?(alive: () => Promise<ReadonlySet<string>>): Promise<void>
  /** Undefined for what is neither the server's nor the driver's saying. */
  explain(error: unknown): ServerProblem | undefined
  explainQuery(error: unknown, seconds: number): QueryProblem | undefined
  /** How users' SQL is read, where it is not as ClickHouse and PostgreSQL write it. */
  readonly language?: SqlLanguage
  /** Some rows of a table, and all of its columns: `limit` and `offset` as the server writes them. */
  page(place: TablePlace, columns: readonly string[], page: TablePage): string
  /**
   * Where a table does not keep the order in which rows come: the query with one column more, each row's place in the query's order.
   * Undefined for a query without one.
   */
  numbered?(query: string, columns: readonly ReadColumn[]): string | undefined
}
