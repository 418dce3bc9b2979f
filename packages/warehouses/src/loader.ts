import type { WriteMode } from '@sluice/contracts'
import type { LoadTarget, PlannedTable, Publication, RestoreTarget, StagedParents, WrittenRows } from './load-target.ts'
import type { RowContent } from '@sluice/row-stream'
import type { UserQuery } from './query-runner.ts'
import type { SourceShape } from './shape/previous-source-columns.ts'
import type { TypeRules } from './shape/plan-shape.ts'

/**
 * Stages, transforms and publishes the rows of runs. Staged rows are in a hidden table; publishing swaps that table in.
 */
export interface Loader {
  /** Creates a staging table. Throws `LeaseLost` if another process has created it for the same attempt. */
  stage(target: LoadTarget, signal: AbortSignal): Promise<StagedTable>
  /**
   * Runs SQL statements on the staged tables of one run, before their publication. In a statement, the unqualified
   * name of a staged table means the staged rows; the qualified name means the published rows. The first failing
   * statement ends the transformation with TRANSFORMATION_FAILED; the tables can then not be published, and
   * `retain` keeps their rows as they are. With `dry`, statements that write to other tables fail.
   */
  transform(
    tables: readonly StagedTable[],
    statements: readonly TransformationStatement[],
    signal: AbortSignal,
    options?: { retain?: boolean; dry?: boolean },
  ): Promise<void>
  /**
   * Lets role `read` query the staged rows while a `gate` (quality check) runs. Readers of the published tables see no
   * change.
   */
  exposeStagedRows(tables: readonly ReadyTable[], attempt: { run: string; attempt: number }): Promise<StagedRowsPreview>
  /**
   * Publishes all staged tables of one run atomically, together with the run's row in the ledger (Sluice's table of
   * loads). Calls `isCurrentAttempt` after all slow steps; if it returns false, publishes nothing and throws
   * `LeaseLost`. If the ledger already contains the run, changes nothing and returns the recorded publication.
   */
  publish(
    tables: readonly StagedTable[],
    isCurrentAttempt: () => Promise<boolean>,
    signal: AbortSignal,
    options?: PublishOptions,
  ): Promise<Publication>
  /**
   * Runs all steps before a publication, including the gate, and returns the changes that publishing would make.
   * Publishes nothing. Throws if `publish` would reject the rows. Throws `WarehouseProblem` NOT_SUPPORTED_HERE in
   * warehouses that cannot plan.
   */
  plan(tables: readonly StagedTable[], signal: AbortSignal, options?: PlanOptions): Promise<PlannedTable[]>
  /**
   * Describes the written and transformed tables of one run as JSON for `adoptStaged`. Returns undefined if the
   * warehouse does not support `adoptStaged`.
   */
  describeStaged(tables: readonly StagedTable[], signal: AbortSignal): Promise<unknown>
  /**
   * Takes over the staged tables of a schema from an earlier attempt of the run, which can then neither publish nor
   * drop them. Returns undefined if one of the tables is missing, published, in use, or belongs to a later attempt.
   */
  adoptStaged(schema: string, staged: unknown, attempt: number, signal: AbortSignal): Promise<StagedTable[] | undefined>
  findPublication(run: string): Promise<Publication | undefined>
  /**
   * Fences this attempt and earlier ones, so that none of them can publish the run any more. If one has already passed
   * its `isCurrentAttempt` check, waits for its publication. Returns the run's publication if one exists. Later
   * attempts can still publish the run. Throws a retryable `WarehouseProblem` if another process publishes for too
   * long.
   */
  fenceRun(run: string, attempt: number): Promise<Publication | undefined>
  /** Returns what the table's last load left for the next one. */
  findLastLoad(schema: string, table: string): Promise<LastLoad>
  typeRules(schema: string): Promise<TypeRules>
  /**
   * Returns the publication of the rows that `restore` would publish again; undefined if none are kept. Throws the
   * errors of `restore`.
   */
  findPrevious(schema: string, table: string): Promise<PreviousRows | undefined>
  /**
   * Undoes the last publication of a table: publishes again all tables that it replaced, with their cursors and column
   * records, in one transaction with the ledger row. The tables that the restore replaces are kept, too. Checks the
   * fence, waits for readers and retries like `publish`. Throws `WarehouseProblem` NOTHING_TO_RESTORE, and
   * NOT_SUPPORTED_HERE in warehouses that keep no replaced tables.
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
  /** The position at which the source continues; undefined if the table's last publication stored none. */
  cursor: unknown
  /** Undefined before the first load. */
  sourceShape: SourceShape | undefined
}

/**
 * A staging table that is being filled. Its rows are invisible until it is published; disposing an unpublished one
 * drops it.
 */
export interface StagedTable extends AsyncDisposable {
  readonly stagingTable: string
  /** The source columns that the table includes. */
  readonly suppliedColumns: readonly string[]
  /** True once a transformation has changed the staged rows. */
  readonly transformed: boolean
  /** The id of the column profile of the rows. The ledger refers to it after the publication. */
  profile?: string | undefined
  /**
   * Streams the content into the staging table with back-pressure. Call it once. Resolves to the warehouse's own row
   * count. Rethrows an error of the content unchanged; throws the signal's reason on abort.
   */
  write(content: RowContent, signal: AbortSignal): Promise<WrittenRows>
}

/** One SQL statement of a transformation. It runs as role `load` in its own transaction. */
export interface TransformationStatement {
  description?: string
  statement: string
}

/**
 * A load that is ready to be published, for checks before publication. Its rows are in the table `sluice`.`staging`.
 */
export interface ReadyTable {
  schema: string
  table: string
  staging: string
  /**
   * Set if existing rows stay in the table. Contains the key (empty if rows are appended), the replaced columns if not
   * all are, the staging table of the parent records, and the column that marks deleted rows.
   */
  merge?: {
    keys: readonly string[]
    columns?: readonly string[]
    parents?: StagedParents
    deletedColumn?: string
  }
}

/**
 * A relation with published rows that a query would read instead of the staged rows: a table by its qualified name, or
 * a view that reads such a table.
 */
export interface OldRows {
  name: string
  view: boolean
}

/**
 * Views of the rows that are about to be published, for role `read`. Disposing it removes everything that it created.
 */
export interface StagedRowsPreview extends AsyncDisposable {
  /**
   * The hidden schema that shows the staged rows under the names of their target tables. Callers put it first in a
   * query's `schemas`.
   */
  schema: string
  /**
   * Returns a relation with published rows that the query would read: a table that it names with its schema, or a view
   * that reads such a table. Otherwise returns undefined. Plans the query without running it, and does not look into
   * functions. Throws the errors of `QueryRunner.query`.
   */
  findOldRows(query: UserQuery, signal: AbortSignal): Promise<OldRows | undefined>
}

export interface PublishOptions {
  /**
   * REPLACE (default): the new rows replace all rows of the table. APPEND: the new rows are added; the tables have no
   * primary key. MERGE: each new row replaces the row with the same primary key, and other rows stay.
   */
  mode?: WriteMode
  /**
   * True if `restore` must be able to undo this publication in any mode. Warehouses that would change rows in place
   * then write a new table instead.
   */
  keepsPrevious?: boolean
  /**
   * For each table, the position at which the source continues next time, as JSON. Stored in the same transaction as
   * the rows; `findLastLoad` returns it.
   */
  cursors?: Readonly<Record<string, unknown>>
  /** Checks the rows before readers see them. If it throws, the rows are not published and the published rows stay. */
  gate?(tables: readonly ReadyTable[], signal: AbortSignal): Promise<void>
  /**
   * Called once, with one sentence, if the publication waits longer than a few seconds for readers. The staged rows
   * stay in place during the wait.
   */
  onWait?(why: string): void
  /**
   * Receives the promise of work that continues after publication: dropping replaced rows and collecting table
   * statistics. The promise never rejects. Without this callback, the publication waits for it.
   */
  onBackgroundWork?(work: Promise<void>): void
}

/** True if a publication with this mode keeps rows of the table that the load does not contain. */
export const keepsRows = (mode: WriteMode | undefined): boolean => mode === 'MERGE' || mode === 'APPEND'

export interface PlanOptions extends Pick<PublishOptions, 'mode' | 'gate'> {
  /** Receives the plan before the gate runs. */
  onPlan?(tables: readonly PlannedTable[]): Promise<void>
}
