import { LeaseLost, type PublishedTable, type PublishOptions, type TableChange } from '../../warehouse.ts'
import { profileToPublish } from '../../load-target.ts'
import { suppliedColumnNames } from '../../shape/previous-source-columns.ts'
import { reportRowLoss } from '../../shape/plan-load.ts'
import type { ManagedView } from '../views/dependent-views.ts'
import type { SqlDialect, SqlSession } from '../sql-dialect.ts'
import { type RelationMetadata, readMetadata } from '../publication-ledger.ts'
import { assertTableOwned, type SqlStagedTable } from '../staging/staged-table.ts'
import { type MergedTable, writeMergedTable } from './merge-increments.ts'
import { countRows, findRelation, readShape, type TableShape, withSession } from '../table-shape.ts'
import { planTableAfterLoad, type LoadPlan } from '../staging/plan-load.ts'
import { concurrentlyChanged, toViewsDependProblem } from '../map-server-errors.ts'
import { retryOnMissingTable, recoverPending } from '../publication-recovery.ts'
import type { StagingColumn } from '../staging/staging-columns.ts'

/**
 * One load with its plan for the published table. `merged` is the hidden table with all rows after a merge; undefined
 * if the load replaces or creates the table.
 */
export interface PlannedPublication {
  load: SqlStagedTable
  currentShape: TableShape | undefined
  merged: MergedTable | undefined
  rows: number
}

/**
 * Plans the publication of a load. For a merge into an existing table, also writes the merged table, which can take
 * long. So it returns the plan of an earlier try (`earlierPlan`), if the published table has not been replaced since.
 */
export async function planPublication(
  dialect: SqlDialect,
  load: SqlStagedTable,
  { merging, parentLoad }: { merging: boolean; parentLoad: SqlStagedTable | undefined },
  signal: AbortSignal,
  earlierPlan: PlannedPublication | undefined,
): Promise<PlannedPublication> {
  const { schema, table } = load.target
  const currentShape = await withSession(dialect, { role: 'service', signal }, async (session) => {
    await recoverPending(dialect, session)
    return readShape(dialect, session, { schema, name: table })
  })
  assertTableOwned(currentShape, load.qualifiedName)
  if (earlierPlan && earlierPlan.currentShape?.id === currentShape?.id) return earlierPlan
  const merged =
    merging && currentShape
      ? await retryOnMissingTable(dialect, () => writeMergedTable(dialect, load, parentLoad, currentShape, signal))
      : undefined
  return { load, currentShape, merged, rows: await countStagedRows(dialect, load, signal) }
}

/** Returns the number of rows in the staging table. A transformation may have changed the number of written rows. */
async function countStagedRows(dialect: SqlDialect, load: SqlStagedTable, signal: AbortSignal): Promise<number> {
  if (!load.transformed) return load.written?.rows ?? 0
  return withSession(dialect, { role: 'read', signal }, (session) => countRows(dialect, session, load.staging))
}

/** Returns the hidden table that the publication renames to the published name. */
export const tableToPublish = ({ load, merged }: PlannedPublication) => ({
  schema: load.target.schema,
  name: (merged ?? load.staging).name,
  id: merged?.id ?? load.id,
})

/** The ledger's data about a table after its publication. */
export interface PublishedState {
  currentShape: TableShape | undefined
  metadata: RelationMetadata
  published: PublishedTable
}

/**
 * Returns the ledger's data about a table after its publication, and the table's entry in the result of the run. Throws
 * WAREHOUSE_BUSY if another run changed the table since `planPublication`, and `LeaseLost` if the staging table no
 * longer exists.
 */
export async function planPublishedState(
  dialect: SqlDialect,
  { ledger, tables }: { ledger: SqlSession; tables: SqlSession },
  planned: PlannedPublication,
  { cursors = {} }: PublishOptions,
): Promise<PublishedState> {
  const { load, currentShape: plannedShape, merged, rows } = planned
  const { schema, table, run, listsTables } = load.target
  const currentShape = await readShape(dialect, tables, { schema, name: table })
  if (currentShape?.id !== plannedShape?.id) throw concurrentlyChanged(load.qualifiedName)
  const stagingMetadata = await readMetadataToPublish(dialect, { ledger, tables }, planned)
  const { changes, sourceShape } = planCurrentTable(dialect, currentShape, load)
  const profile = profileToPublish(load, merged && { rows, earlierProfile: currentShape?.metadata?.profile })
  const rowLoss = currentShape && !merged ? reportRowLoss(load.target, currentShape.metadata?.rows, rows) : []
  return {
    currentShape,
    metadata: {
      ...stagingMetadata,
      kind: 'LOADED',
      run,
      fed: suppliedColumnNames(sourceShape),
      feed: sourceShape,
      rows: merged?.rows ?? rows,
      ...(cursors[table] !== undefined && { cursor: cursors[table] }),
      ...(profile && { profile }),
    },
    published: {
      schema,
      table,
      rows,
      bytes: load.written?.bytes ?? 0,
      changes: [...changes, ...rowLoss],
      ...(currentShape?.metadata?.rows !== undefined && { rowsBefore: currentShape.metadata.rows }),
      ...(listsTables && { listsTables }),
    },
  }
}

/** Returns the metadata of the hidden table to publish. Throws `LeaseLost` if the table no longer exists. */
async function readMetadataToPublish(
  dialect: SqlDialect,
  { ledger, tables }: { ledger: SqlSession; tables: SqlSession },
  planned: PlannedPublication,
): Promise<RelationMetadata> {
  const newTable = tableToPublish(planned)
  const metadata = (await readMetadata(dialect, ledger, newTable.id)).get(newTable.id)
  const isGone = (await findRelation(dialect, tables, newTable))?.id !== newTable.id
  if (metadata && !isGone) return metadata
  const { run, attempt } = planned.load.target
  throw new LeaseLost(
    `The staging table of attempt ${attempt} of run ${run} no longer exists. Another attempt may have taken over the run.`,
  )
}

/**
 * Plans the load again for the current table. Throws WAREHOUSE_BUSY if the planned columns differ from those of the
 * staging table.
 */
export function planCurrentTable(
  dialect: SqlDialect,
  currentShape: TableShape | undefined,
  load: SqlStagedTable,
): LoadPlan {
  const { target, columnFacts, reading, written, transformed } = load
  const plan = planTableAfterLoad(dialect, currentShape, {
    target,
    columnFacts,
    reading,
    sourceRows: written?.rows,
    transformed,
  })
  const describeTypes = (columns: readonly StagingColumn[]) =>
    JSON.stringify(columns.map(({ name, type }) => `${name}\0${type}`).toSorted())
  const hasStagedColumns = describeTypes(plan.columns) === describeTypes(load.columns)
  if (!hasStagedColumns) throw concurrentlyChanged(load.qualifiedName)
  return plan
}

/** True if this change of a table requires recreating the views that read it. */
export const affectsViews = ({ kind }: TableChange): boolean =>
  kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED' || kind === 'COLUMN_ADDED' || kind === 'COLUMN_DROPPED'

/**
 * Returns the problem for views that the new columns of their table make invalid. Returns temporary problems, and
 * errors that are not from the server, unchanged.
 */
export const viewRebuildProblem = (
  dialect: SqlDialect,
  error: unknown,
  views: readonly ManagedView[],
  qualifiedName: string,
): unknown =>
  toViewsDependProblem(
    dialect,
    error,
    qualifiedName,
    (reason) =>
      `The views over ${qualifiedName} (${views.map(({ name }) => name).join(', ')}) cannot be recreated with the new columns: ${reason} The old data stays. Change or drop these views and run again.`,
  )
