import type { DataType } from '@sluice/contracts'
import { type ReaderAdvice, type RowContent, withAdvice } from '@sluice/row-stream'
import type { LoadTarget, PlannedTable, Publication, RestoreTarget } from './load-target.ts'
import type { StagedRecords } from './whole-records.ts'
import type { FeedMemory } from './shape/feed-memory.ts'
import type { TypeRules } from './shape/plan-shape.ts'
import type { WarehouseViews } from './views.ts'

export type * from './load-target.ts'

export type { ColumnProfile, RowContent as LoadContent, TupleChunk } from '@sluice/row-stream'

/** A staging table that is being filled. Its rows are invisible until it is published; disposing an unpublished one drops it. */
export interface TableLoad extends AsyncDisposable {
  readonly stagingTable: string
  /**
   * Streams the content into the staging table with back-pressure, once. Resolves to the number of rows that the warehouse
   * counted. Rethrows an error of the content unchanged; throws the signal's reason when it aborts.
   */
  write(content: RowContent, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
}

export interface WarehouseColumn {
  name: string
  label: string
  dataType: DataType
  length?: number
  precision?: number
  scale?: number
  primaryKey: boolean
  /** The source fed it once, and the last load did not contain it. */
  deleted?: boolean
  /** The time at which a load first created it, as ISO 8601. */
  created?: string
  /** Whether the warehouse stores the rows in the order of this column, alone or with others. */
  sortKey?: boolean
  /** Statistics of the last load, if no later change affected the rows. The first is an estimate. */
  distinctValues?: number
  nullValues?: number
  minValue?: string
  maxValue?: string
}

/** One statement of a transformation: any SQL, run as role `load` in a transaction of its own. */
export interface TransformationStatement {
  description?: string
  statement: string
}

/** A load that is ready to be published, for inspection before that: the rows are in `sluice`.`staging`. */
export interface ReadyTable {
  schema: string
  table: string
  staging: string
  /** Set if the rows are merged into the table: the key, the replaced columns if not all, and the parent table of group rows. */
  merge?: { keys: readonly string[]; columns?: readonly string[]; records?: StagedRecords }
}

/** A relation of the last load that a query would read: a table by its qualified name, or a view that shows its rows. */
export interface OldRows {
  name: string
  view: boolean
}

/** An unqualified name of a table or view that exists in several schemas. */
export interface AmbiguousTable {
  name: string
  /** Sorted by name. */
  schemas: string[]
}

/** The rows that are about to be published, as role `read` sees them. Disposing it removes everything it created. */
export interface StagedRowsPreview extends AsyncDisposable {
  /** The hidden schema with the rows under the names of their tables. Callers put it first in a query's `schemas`. */
  schema: string
  /**
   * Returns the old rows that the query would read, because it names a table with its schema or reads a view that does. Plans the
   * query and does not run it. Does not look into functions. Throws the errors of `Warehouse.query`.
   */
  oldRows(query: UserQuery, signal: AbortSignal): Promise<OldRows | undefined>
}

export interface PublishOptions {
  /** MERGE: rows replace those with the same primary key, all others stay. REPLACE: the rows replace all rows of the table. */
  mode?: 'REPLACE' | 'MERGE'
  /**
   * By table: the position at which the source continues next time, as JSON. Stored in the same transaction; `findCursor` returns it.
   */
  cursors?: Readonly<Record<string, unknown>>
  /** Runs when the rows are ready, before readers see them. Throws to reject them; the old data stays. */
  gate?(tables: readonly ReadyTable[], signal: AbortSignal): Promise<void>
  /** Receives one sentence, once, when publication waits for readers for longer than a few seconds. The staged rows stay in place. */
  waiting?(why: string): void
  /**
   * Receives the work that continues after the rows are public: dropping old rows and collecting statistics of the whole table.
   * The work never fails. If the callback is absent, publication waits for the work.
   */
  behind?(work: Promise<void>): void
}

export interface PlanOptions extends Pick<PublishOptions, 'mode' | 'gate'> {
  /** Receives the plan before the gate runs. */
  planned?(tables: readonly PlannedTable[]): Promise<void>
}

export interface ForeignKey {
  column: string
  referencedSchema: string
  referencedTable: string
  referencedColumn: string
}

export interface WarehouseTable {
  schema: string
  name: string
  columns: WarehouseColumn[]
  rowCount: number
  /** Bytes on disk, indexes included. */
  size: number
  foreignKeys: ForeignKey[]
}

/** A cell in the form that clients receive: strings for values that JavaScript cannot represent exactly (BIGINT, DECIMAL, dates). */
export type RowCell = string | number | boolean | null | object

export interface QueryRows {
  columns: WarehouseColumn[]
  rows: RowCell[][]
  /** True when the byte cap cut the page short; the next page starts at `offset + rows.length`. */
  truncated: boolean
  /** For queries: whether more rows follow these, for any reason that cut the result off. */
  more?: boolean
}

/** The time limit of a page at the server in seconds, 30 if absent: then QUERY_TIMEOUT. An abort ends it at the server. */
export interface ReadLimits {
  seconds?: number
  signal?: AbortSignal
}

/** A query from a user: one SELECT, WITH … SELECT, VALUES or TABLE. */
export interface UserQuery {
  /** `$1`, `$2` … where `values` go. */
  text: string
  values?: readonly (string | null)[]
  /** Positions of values, from 0, that are texts even if they look like numbers. */
  texts?: ReadonlySet<number>
  /** The search path for unqualified names, in order; if empty, only PostgreSQL's own schema. */
  schemas?: readonly string[]
  /**
   * Rows: at most 10,000, which is the default; pages have no row limit in total. Bytes: 4 MiB by default, 32 MiB for a page,
   * which is the maximum. Seconds at the server: 30 by default, 1,800 for pages. `offset`: the number of rows to skip.
   */
  limits?: { rows?: number; bytes?: number; seconds?: number; offset?: number }
}

/** One client's warehouse. Every statement runs as that client's own LOGIN roles. */
export interface Warehouse extends AsyncDisposable, WarehouseViews {
  /** Throws `WarehouseProblem`: WAREHOUSE_OUTDATED if its hidden schema is older than this version requires. */
  check(): Promise<void>
  /** Returns the number of open connections. */
  connections(): number
  ensureSchema(schema: string): Promise<void>
  /** Fails while the schema contains tables. */
  dropSchema(schema: string): Promise<void>
  beginLoad(target: LoadTarget, signal: AbortSignal): Promise<TableLoad>
  /**
   * Publishes the written loads of one run as the tables, in one transaction with its ledger row: readers see the old rows or the
   * new. It calls `stillOurs` inside that transaction, just before the swap; false rolls everything back with `LostRun`. If the
   * run's ledger row already exists, it changes nothing and returns that row.
   */
  publish(
    loads: readonly TableLoad[],
    stillOurs: () => Promise<boolean>,
    signal: AbortSignal,
    options?: PublishOptions,
  ): Promise<Publication>
  /**
   * Returns as JSON what `adoptStaged` needs to publish the written and transformed loads of one run; undefined if the warehouse of
   * the loads cannot do that. Absent if no warehouse can.
   */
  describeStaged?(loads: readonly TableLoad[], signal: AbortSignal): Promise<unknown>
  /**
   * Takes loads of a schema over from an earlier attempt of their run. From then on the earlier attempt can neither publish nor drop
   * them. Undefined if this is not possible for all of them: a staging table is gone, published, in use or a later attempt's.
   */
  adoptStaged?(schema: string, staged: unknown, attempt: number, signal: AbortSignal): Promise<TableLoad[] | undefined>
  /**
   * Runs the steps before a publication on the written loads of one run, the gate included, and returns the changes that
   * publishing would make. Publishes nothing. Throws if `publish` would reject the rows, and `WarehouseProblem`
   * NOT_SUPPORTED_HERE in warehouses that cannot plan.
   */
  plan(loads: readonly TableLoad[], signal: AbortSignal, options?: PlanOptions): Promise<PlannedTable[]>
  /**
   * Returns the publication time of the rows that `restore` would publish again; undefined if none are kept. Throws the errors of
   * `restore`.
   */
  findPrevious(schema: string, table: string): Promise<{ publishedAt: Date } | undefined>
  /**
   * Publishes the tables that the last publication of a table replaced, with all tables of that publication, in one transaction
   * with its ledger row. The tables it replaces are kept in turn. Cursor and memory are those of the restored rows. Fence,
   * readers and retries are as in `publish`. Throws `WarehouseProblem` NOTHING_TO_RESTORE, and NOT_SUPPORTED_HERE in warehouses
   * that keep no replaced tables.
   */
  restore(
    target: RestoreTarget,
    stillOurs: () => Promise<boolean>,
    signal: AbortSignal,
    options?: Pick<PublishOptions, 'behind' | 'waiting'>,
  ): Promise<Publication>
  /** Drops tables whose retention has expired; returns the number of publications. */
  expirePrevious(): Promise<number>
  /**
   * Runs the statements over the written loads of one run, before they are published. In them the name of a load's
   * table, without a schema, is the rows that were loaded; with its schema it is what is published now. The first
   * statement that fails ends it with TRANSFORMATION_FAILED, and the loads cannot be published any more; `retain` keeps
   * their rows as they were then. With `dry`, it fails if the statements write elsewhere, and commits nothing but the loads.
   */
  transform(
    loads: readonly TableLoad[],
    statements: readonly TransformationStatement[],
    signal: AbortSignal,
    options?: { retain?: boolean; dry?: boolean },
  ): Promise<void>
  /** Shows the rows of ready loads to role `read` while a `gate` checks them. Readers of the tables are not affected. */
  rehearse(tables: readonly ReadyTable[], of: { run: string; attempt: number }): Promise<StagedRowsPreview>
  findPublication(run: string): Promise<Publication | undefined>
  /**
   * The same, permanently: waits for an attempt that has passed `stillOurs`, or prevents it from publishing. The caller ends a
   * run that no earlier attempt holds; later attempts may still publish it. Throws `WarehouseProblem`, a retryable one if another
   * process publishes for too long.
   */
  closeRun(run: string, attempt: number): Promise<Publication | undefined>
  /** Returns the cursor that the table's last publication stored for its source; undefined if it stored none. */
  findCursor(schema: string, table: string): Promise<unknown>
  /** Returns the memory of the table's last load, or undefined if there was none. */
  findFeed(schema: string, table: string): Promise<FeedMemory | undefined>
  /** Returns the rules by which tables of a schema get their types. */
  typeRules(schema: string): Promise<TypeRules>
  findTable(schema: string, table: string): Promise<WarehouseTable | undefined>
  /** Runs as role `read`, read-only, with time, row and byte limits. `offset` and `limit` are in rows, in the table's own order. */
  readTable(
    schema: string,
    table: string,
    page: { limit: number; offset: number },
    limits?: ReadLimits,
  ): Promise<QueryRows>
  /**
   * Runs as role `read`, read-only, through a cursor on a connection that is closed afterwards; three run concurrently, others
   * wait 15 seconds and then throw WAREHOUSE_BUSY. Column names are made unique. Throws SQL_NOT_ALLOWED (more than a query),
   * QUERY_FAILED (the server's message and the position in the text), QUERY_TIMEOUT, ROW_TOO_LARGE, RESULT_TOO_LARGE, TABLE_BUSY.
   */
  query(query: UserQuery, signal?: AbortSignal): Promise<QueryRows>
  /**
   * Runs the query page by page, for pushes: at most one page is in memory, and an empty result has none. The result is
   * consistent, however long the pages take, and does not block loads.
   */
  queryPages(query: UserQuery, pageRows: number, signal: AbortSignal): AsyncIterable<QueryRows>
  /**
   * Returns an unqualified table name of the query that exists in several of its `schemas`; the first `preferred` schemas take
   * precedence, and a name that they contain is not ambiguous. Undefined if every name is unambiguous. Plans the query and does
   * not run it. Throws the errors of `query`.
   */
  ambiguousTable(query: UserQuery, preferred: number, signal: AbortSignal): Promise<AmbiguousTable | undefined>
  /** The schemas of this warehouse that are the client's own, by name. */
  schemas(): Promise<string[]>
  dropTable(schema: string, table: string): Promise<void>
  /**
   * Drops staging tables of runs that are not alive; returns their number. It calls `alive` after listing the tables, so a run
   * that starts in between cannot lose its table.
   */
  sweepStaging(alive: () => Promise<ReadonlySet<string>>): Promise<number>
  /** Deletes the ledger's entries of runs older than this many days whose rows are in no table any more; returns the number of runs. */
  pruneLedger(days: number): Promise<number>
}

/**
 * The warehouse rejected the operation; the message is a sentence for users. `retryable` if waiting may help (restart, lock time-out).
 */
export class WarehouseProblem extends Error {
  override readonly name = 'WarehouseProblem'
  readonly code: string
  readonly retryable: boolean
  /** The message without the advice. */
  readonly sentence: string
  readonly advice: ReaderAdvice | undefined
  /** True if the query names a table or view that does not exist. */
  readonly relationMissing: boolean

  constructor(
    code: string,
    sentence: string,
    options: ErrorOptions & { retryable?: boolean; relationMissing?: boolean; advice?: ReaderAdvice } = {},
  ) {
    super(withAdvice(sentence, options.advice), options)
    this.code = code
    this.sentence = sentence
    this.advice = options.advice
    this.retryable = options.retryable ?? false
    this.relationMissing = options.relationMissing ?? false
  }
}

/** Codes for a warehouse, schema, table or ledger that does not exist, and for a warehouse that rejects the service. */
const gone = new Set([
  'WAREHOUSE_MISSING',
  'WAREHOUSE_ACCESS_DENIED',
  'WAREHOUSE_OUTDATED',
  'WAREHOUSE_NOT_SET_UP',
  'WAREHOUSE_NOT_OURS',
  'SCHEMA_MISSING',
  'TABLE_MISSING',
])

/** Returns whether the error means that the warehouse contains no published run. */
export const isWarehouseGone = (error: unknown): boolean => error instanceof WarehouseProblem && gone.has(error.code)
