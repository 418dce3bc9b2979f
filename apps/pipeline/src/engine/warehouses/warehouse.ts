import type { DataType } from '@sluice/contracts'
import { type ReaderAdvice, withAdvice } from '../../advice.ts'
import type { ColumnFacts, LoadTarget, PlannedTable, Publication, RestoreTarget, StoredType } from './load-target.ts'
import type { StagedRecords } from './whole-records.ts'
import type { FeedMemory } from './shape/feed-memory.ts'
import type { TypeRules } from './shape/plan-shape.ts'
import type { WarehouseViews } from './views.ts'

export type * from './load-target.ts'

/** Whole tuples of binary COPY. `release` is called once when the bytes are not needed any more. */
export interface TupleChunk {
  bytes: Uint8Array
  release?(): void
}

/** What one column holds. Structurally what a source's feed measures: `distinct` is an estimate, `min` and `max` are text. */
export interface ColumnProfile {
  column: string
  nulls: number
  distinct?: number
  min?: string
  max?: string
  maxLength?: number
}

/** What is written to a load. Structurally what a source's feed offers, so neither module imports the other. */
export interface LoadContent {
  format: 'copy-binary'
  rows(types: readonly StoredType[]): AsyncIterable<TupleChunk>
  /** Bytes of the source behind it, where they are known: what decides how it is copied. */
  size?: number
  /** Asked once the rows are through. */
  profile?(): ColumnProfile[]
  /** Returns the contents of the columns; call it after the rows have ended. Absent if the source knows its types. */
  facts?(): ColumnFacts[]
  /** Returns JSON that the source receives at its next reading; call it after the rows have ended. */
  reading?(): unknown
}

/** A staging table being filled. Nobody sees the rows until it is published; disposing an unpublished one drops it. */
export interface TableLoad extends AsyncDisposable {
  readonly stagingTable: string
  /**
   * Streams the content into the staging table with back-pressure, once. Resolves to the rows the warehouse counted.
   * An error of the content comes out as it is; the signal's reason comes out when it aborts.
   */
  write(content: LoadContent, signal: AbortSignal): Promise<{ rows: number; bytes: number }>
}

export interface WarehouseColumn {
  name: string
  label: string
  dataType: DataType
  length?: number
  precision?: number
  scale?: number
  primaryKey: boolean
  /** The source fed it once, and the last load did not bring it. */
  deleted?: boolean
  /** When a load first made it, as ISO 8601. */
  created?: string
  /** Whether the warehouse keeps the rows in the order of this column, alone or with others. */
  sortKey?: boolean
  /** As the last load measured them, where nothing has changed the rows since. The first is an estimate. */
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

/** A load that is ready to be published, for whoever wants to look first: the rows are in `sluice`.`staging`. */
export interface ReadyTable {
  schema: string
  table: string
  staging: string
  /** Set if the rows are merged into the table: the key, the replaced columns if not all, and the parent table of group rows. */
  merge?: { keys: readonly string[]; columns?: readonly string[]; records?: StagedRecords }
}

/** What a query would read of the last load: a table by its qualified name, or a view that shows its rows. */
export interface OldRows {
  name: string
  view: boolean
}

/** A name without a schema that several schemas have a table or view of. */
export interface AmbiguousTable {
  name: string
  /** In the order of their names. */
  schemas: string[]
}

/** The rows that are about to be published, as role `read` finds them. Disposing it leaves nothing behind. */
export interface StagedRowsPreview extends AsyncDisposable {
  /** Hidden: where the rows stand under the names of their tables. For the first of a query's `schemas`. */
  schema: string
  /**
   * What the query would read of the tables' old rows, because it names a table with its schema or a view that does. The
   * query is planned, not run. Functions are not looked into. Throws what `Warehouse.query` throws.
   */
  oldRows(query: UserQuery, signal: AbortSignal): Promise<OldRows | undefined>
}

export interface PublishOptions {
  /** MERGE: rows take the place of those with the same primary key, all others stay. Else they replace the table's. */
  mode?: 'REPLACE' | 'MERGE'
  /** By table: where the source goes on next time, as JSON. Kept in the same transaction; `findCursor` answers it. */
  cursors?: Readonly<Record<string, unknown>>
  /** Asked when the rows are ready, before anyone sees them. Throws to refuse them; the old data stays. */
  gate?(tables: readonly ReadyTable[], signal: AbortSignal): Promise<void>
  /** Told once, in a sentence, when publication waits for readers for longer than a few seconds. The rows stay where they are. */
  waiting?(why: string): void
  /**
   * Told what still goes on once the rows are public: old ones are dropped, statistics of the whole table taken. It never
   * fails. Where nobody is told, publication waits for it.
   */
  behind?(work: Promise<void>): void
}

export interface PlanOptions extends Pick<PublishOptions, 'mode' | 'gate'> {
  /** Receives the plan before the gate is asked. */
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

/** Rows as they go to a client: strings for what JavaScript cannot hold exactly (BIGINT, DECIMAL, dates). */
export type RowCell = string | number | boolean | null | object

export interface QueryRows {
  columns: WarehouseColumn[]
  rows: RowCell[][]
  /** True when the byte cap cut the page short; the next page starts at `offset + rows.length`. */
  truncated: boolean
  /** Of queries: whether there are rows behind these, whatever cut them off. */
  more?: boolean
}

/** Seconds that a page may take at the server, 30 when absent: then QUERY_TIMEOUT. An abort ends it at the server. */
export interface ReadLimits {
  seconds?: number
  signal?: AbortSignal
}

/** A query that users wrote: one SELECT, WITH … SELECT, VALUES or TABLE. */
export interface UserQuery {
  /** `$1`, `$2` … where `values` go. */
  text: string
  values?: readonly (string | null)[]
  /** Places of values, from 0, that are texts even where they look like numbers. */
  texts?: ReadonlySet<number>
  /** Where unqualified names are looked for, in this order; in PostgreSQL's own schema alone when there are none. */
  schemas?: readonly string[]
  /**
   * Rows: at most 10,000 and usually that, of pages as many as there are. Bytes: usually 4 MiB, of a page 32 MiB, which is the
   * most. Seconds at the server: usually 30, of pages 1,800. `offset`: rows to leave out before the first.
   */
  limits?: { rows?: number; bytes?: number; seconds?: number; offset?: number }
}

/** One client's warehouse. Every statement runs as that client's own LOGIN roles. */
export interface Warehouse extends AsyncDisposable, WarehouseViews {
  /** Throws `WarehouseProblem`: WAREHOUSE_OUTDATED when its hidden schema is older than this version needs. */
  check(): Promise<void>
  /** How many connections are open. */
  connections(): number
  ensureSchema(schema: string): Promise<void>
  /** Refuses while tables are in it. */
  dropSchema(schema: string): Promise<void>
  beginLoad(target: LoadTarget, signal: AbortSignal): Promise<TableLoad>
  /**
   * Makes the written loads of one run the tables, all in one transaction with its ledger row: readers see the old
   * rows or the new. `stillOurs` is asked inside that transaction, just before the swap; false rolls everything back
   * with `LostRun`. A run that finds its ledger row already there does nothing and answers that row.
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
   * Does with the written loads of one run what comes before a publication, the gate included, and answers what publishing them would
   * change. Publishes nothing. Throws where `publish` would refuse the rows, and `WarehouseProblem` NOT_SUPPORTED_HERE in warehouses
   * that cannot tell.
   */
  plan(loads: readonly TableLoad[], signal: AbortSignal, options?: PlanOptions): Promise<PlannedTable[]>
  /** When the rows were published that `restore` would publish again; undefined where nothing is kept. Throws as `restore` does. */
  findPrevious(schema: string, table: string): Promise<{ publishedAt: Date } | undefined>
  /**
   * Publishes what the last publication of a table replaced, with all tables of that publication, in one transaction with its ledger row. What
   * it replaces is kept in turn. Cursor and memory are those of the rows. Fence, readers and retries are as in `publish`. Throws
   * `WarehouseProblem` NOTHING_TO_RESTORE, and NOT_SUPPORTED_HERE in warehouses that keep nothing.
   */
  restore(
    target: RestoreTarget,
    stillOurs: () => Promise<boolean>,
    signal: AbortSignal,
    options?: Pick<PublishOptions, 'behind' | 'waiting'>,
  ): Promise<Publication>
  /** Drops what is kept for longer than it should be; answers how many publications that were. */
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
  /**
   * Shows the rows of loads that are ready to role `read`, for whoever has to pass them: for the time of a `gate`. Readers
   * of the tables notice nothing.
   */
  rehearse(tables: readonly ReadyTable[], of: { run: string; attempt: number }): Promise<StagedRowsPreview>
  findPublication(run: string): Promise<Publication | undefined>
  /**
   * The same, for good: an attempt that has passed `stillOurs` is waited for, or kept from publishing any more. For whoever
   * ends a run that no earlier attempt has in hand any longer; attempts after this one may still publish it. Throws
   * `WarehouseProblem`, a retryable one where somebody publishes for too long.
   */
  closeRun(run: string, attempt: number): Promise<Publication | undefined>
  /** What the last publication of the table kept for its source; undefined where it kept nothing. */
  findCursor(schema: string, table: string): Promise<unknown>
  /** Returns the memory of the table's last load, or undefined if there was none. */
  findFeed(schema: string, table: string): Promise<FeedMemory | undefined>
  /** Returns the rules by which tables of a schema get their types. */
  typeRules(schema: string): Promise<TypeRules>
  findTable(schema: string, table: string): Promise<WarehouseTable | undefined>
  /** As role `read`, read-only, with time, row and byte caps. `offset` and `limit` in rows, in the table's own order. */
  readTable(
    schema: string,
    table: string,
    page: { limit: number; offset: number },
    limits?: ReadLimits,
  ): Promise<QueryRows>
  /**
   * As role `read`, read-only, through a cursor on a connection that is thrown away; three at once, others wait 15 seconds
   * for WAREHOUSE_BUSY. Names of columns are made unique. Throws SQL_NOT_ALLOWED (more than a query), QUERY_FAILED (the
   * server's sentence and where in the text), QUERY_TIMEOUT, ROW_TOO_LARGE, RESULT_TOO_LARGE, TABLE_BUSY.
   */
  query(query: UserQuery, signal?: AbortSignal): Promise<QueryRows>
  /**
   * The same, page by page, for what is pushed out: never more than one page in memory, and an empty result has none. The
   * result is as of its beginning, however long the pages take, and holds up no load.
   */
  queryPages(query: UserQuery, pageRows: number, signal: AbortSignal): AsyncIterable<QueryRows>
  /**
   * A table that the query names without a schema, where several of its `schemas` have one of that name; the first `preferred`
   * schemas come before the others and are no reason. Undefined where there is none. The query is planned, not run. Throws what
   * `query` throws.
   */
  ambiguousTable(query: UserQuery, preferred: number, signal: AbortSignal): Promise<AmbiguousTable | undefined>
  /** The schemas of this warehouse that are the client's own, by name. */
  schemas(): Promise<string[]>
  dropTable(schema: string, table: string): Promise<void>
  /**
   * Drops staging tables of runs that are not alive; answers how many. `alive` is asked after the tables were listed,
   * so a run that starts meanwhile cannot lose its table.
   */
  sweepStaging(alive: () => Promise<ReadonlySet<string>>): Promise<number>
  /** Forgets what runs published more than so many days ago, where no table holds it any more; answers how many runs. */
  pruneLedger(days: number): Promise<number>
}

/** The warehouse refused, in a sentence for people. `retryable` when waiting may help (restart, lock time-out). */
export class WarehouseProblem extends Error {
  override readonly name = 'WarehouseProblem'
  readonly code: string
  readonly retryable: boolean
  /** The message without the advice. */
  readonly sentence: string
  readonly advice: ReaderAdvice | undefined
  /** A query names a table or view that is not there. */
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

/** Codes of a warehouse, or a ledger, that is not there, or knows us no more. */
const gone = new Set([
  'WAREHOUSE_MISSING',
  'WAREHOUSE_ACCESS_DENIED',
  'WAREHOUSE_OUTDATED',
  'WAREHOUSE_NOT_SET_UP',
  'WAREHOUSE_NOT_OURS',
  'SCHEMA_MISSING',
  'TABLE_MISSING',
])

/** Whether a warehouse that answers so holds nothing that a run of ours published. */
export const isWarehouseGone = (error: unknown): boolean => error instanceof WarehouseProblem && gone.has(error.code)
