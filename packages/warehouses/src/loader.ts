import type { WriteMode } from '@sluice/contracts'
import type { LoadTarget, PlannedTable, Publication, RestoreTarget, StagedRecords, WrittenRows } from './load-target.ts'
import type { RowContent } from '@sluice/row-stream'
import type { UserQuery } from './query-runner.ts'
import type { FeedMemory } from './shape/remembered-feed.ts'
import type { TypeRules } from './shape/plan-shape.ts'

/** Stages, transforms and publishes the rows of runs. */
export interface Loader {
  /** Creates a staging table. Throws `LeaseLost` if another process has created it for the same attempt. */
  stage(target: LoadTarget, signal: AbortSignal): Promise<StagedTable>
  /**
   * Runs the statements over the staged tables of one run, before their publication. In a statement, the unqualified name of a
   * staged table means the staged rows; the qualified name means the published rows. The first failing statement ends the
   * transformation with TRANSFORMATION_FAILED, and the tables cannot be published; `retain` keeps their rows as they were then.
   * If `dry` is set, statements that write to other tables fail, and only the staged tables change.
   */
  transform(
    tables: readonly StagedTable[],
    statements: readonly TransformationStatement[],
    signal: AbortSignal,
    options?: { retain?: boolean; dry?: boolean },
  ): Promise<void>
  /** Lets role `read` query the staged rows of ready tables while a `gate` checks them. Readers of the published tables see no change. */
  exposeStagedRows(tables: readonly ReadyTable[], attempt: { run: string; attempt: number }): Promise<StagedRowsPreview>
  /**
   * Publishes the staged tables of one run atomically with its ledger row: either all of them are published or none. Calls
   * `isCurrentAttempt`, the fence check, directly before the commit; if it returns false, nothing is published and `LeaseLost` is thrown.
   * If the ledger already contains the run, changes nothing and returns the recorded publication.
   */
  publish(
    tables: readonly StagedTable[],
    isCurrentAttempt: () => Promise<boolean>,
    signal: AbortSignal,
    options?: PublishOptions,
  ): Promise<Publication>
  /**
   * Runs the steps before a publication, the gate included, and returns the changes that publishing would make. Publishes
   * nothing. Throws if `publish` would reject the rows, and `WarehouseProblem` NOT_SUPPORTED_HERE in warehouses that cannot plan.
   */
  plan(tables: readonly StagedTable[], signal: AbortSignal, options?: PlanOptions): Promise<PlannedTable[]>
  /**
   * Returns as JSON what `adoptStaged` needs to publish the written and transformed tables of one run; undefined if the
   * warehouse does not support that.
   */
  describeStaged(tables: readonly StagedTable[], signal: AbortSignal): Promise<unknown>
  /**
   * Takes over the staged tables of a schema from an earlier attempt of the run, which can then neither publish nor drop them.
   * Returns undefined if one of them cannot be taken over: it is missing, published, in use, or belongs to a later attempt.
   */
  adoptStaged(schema: string, staged: unknown, attempt: number, signal: AbortSignal): Promise<StagedTable[] | undefined>
  findPublication(run: string): Promise<Publication | undefined>
  /**
   * Fences this attempt and earlier ones: afterwards none of them can publish the run. If one of them has already passed its
   * `isCurrentAttempt` check, waits for it. Returns the run's publication if there is one. Later attempts may still publish the
   * run. Throws `WarehouseProblem`, which is retryable if another process publishes for too long.
   */
  fenceRun(run: string, attempt: number): Promise<Publication | undefined>
  /** Returns the cursor that the table's last publication stored for its source; undefined if it stored none. */
  findCursor(schema: string, table: string): Promise<unknown>
  /** Returns what the table's last load left for the next one. */
  findLastLoad(schema: string, table: string): Promise<LastLoad>
  typeRules(schema: string): Promise<TypeRules>
  /**
   * Returns the publication of the rows that `restore` would publish again; undefined if none are kept. Throws the errors of `restore`.
   */
  findPrevious(schema: string, table: string): Promise<PreviousRows | undefined>
  /**
   * Publishes the tables that the last publication of a table replaced, with all tables of that publication, in one
   * transaction with its ledger row. The tables that the restore replaces are kept, too. Restores cursor and memory
   * together with the rows. The fence check, waiting for readers, and retries are as in `publish`. Throws
   * `WarehouseProblem` NOTHING_TO_RESTORE, and NOT_SUPPORTED_HERE in warehouses that keep no replaced tables.
   */
  restore(
    target: RestoreTarget,
    isCurrentAttempt: () => Promise<boolean>,
    signal: AbortSignal,
    options?: Pick<PublishOptions, 'onBackgroundWork' | 'onWait'>,
  ): Promise<Publication>
}

/** The run that published the rows that a restore publishes again. */
export interface PreviousRows {
  run: string
  publishedAt: Date
}

export interface LastLoad {
  /** The position at which the source continues; undefined if there was no load, or if it stored none. */
  cursor: unknown
  /** Undefined if there was no load. */
  feed: FeedMemory | undefined
}

/** A staging table that is being filled. Its rows are invisible until it is published; disposing an unpublished one drops it. */
export interface StagedTable extends AsyncDisposable {
  readonly stagingTable: string
  /** The columns that the source feeds and the table includes. */
  readonly fed: readonly string[]
  /** True once a transformation has changed the staged rows. */
  readonly transformed: boolean
  /** The id of the profile of the rows, which the ledger refers to after the publication. */
  profile?: string | undefined
  /**
   * Streams the content into the staging table with back-pressure, once. Resolves to the number of rows that the warehouse
   * counted. Rethrows an error of the content unchanged; throws the signal's reason when it aborts.
   */
  write(content: RowContent, signal: AbortSignal): Promise<WrittenRows>
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
  /**
   * Set if rows of the table stay: the key, which is empty if the rows are appended, the replaced columns if not all, the parent table of
   * group rows, and the column that marks deleted rows.
   */
  merge?: {
    keys: readonly string[]
    columns?: readonly string[]
    records?: StagedRecords
    deletedColumn?: string
  }
}

/** A relation of the last load that a query would read: a table by its qualified name, or a view that shows its rows. */
export interface OldRows {
  name: string
  view: boolean
}

/** The rows that are about to be published, as role `read` sees them. Disposing it removes everything it created. */
export interface StagedRowsPreview extends AsyncDisposable {
  /** The hidden schema with the rows under the names of their tables. Callers put it first in a query's `schemas`. */
  schema: string
  /**
   * Returns a relation with published rows that the query would read, because it names a table with its schema or reads a view
   * that does; undefined if it reads none. Plans the query and does not run it. Does not look into functions. Throws the errors
   * of `QueryRunner.query`.
   */
  oldRows(query: UserQuery, signal: AbortSignal): Promise<OldRows | undefined>
}

export interface PublishOptions {
  /**
   * REPLACE, the default: the rows replace all rows of the table. APPEND: they are added to them; the tables have no primary key. MERGE:
   * each row replaces the row with the same primary key; all other rows of the table stay.
   */
  mode?: WriteMode
  /**
   * True if `restore` can undo this publication, whatever its mode. A warehouse that otherwise changes rows in place then writes the table
   * again.
   */
  keepsPrevious?: boolean
  /**
   * The position of each table at which the source continues next time, as JSON. Stored in the same transaction; `findCursor` returns it.
   */
  cursors?: Readonly<Record<string, unknown>>
  /** Runs when the rows are ready, before readers see them. If it throws, the rows are not published and the old data stays. */
  gate?(tables: readonly ReadyTable[], signal: AbortSignal): Promise<void>
  /** Receives one sentence, once, when publication waits for readers for longer than a few seconds. The staged rows stay in place. */
  onWait?(why: string): void
  /**
   * Receives the work that continues after the rows are public: dropping old rows and collecting statistics of the whole table.
   * The work never fails. If the callback is absent, publication waits for the work.
   */
  onBackgroundWork?(work: Promise<void>): void
}

/** Returns whether a publication keeps rows of the table that the load does not contain. */
export const keepsRows = (mode: WriteMode | undefined): boolean => mode === 'MERGE' || mode === 'APPEND'

export interface PlanOptions extends Pick<PublishOptions, 'mode' | 'gate'> {
  /** Receives the plan before the gate runs. */
  onPlan?(tables: readonly PlannedTable[]): Promise<void>
}
