import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WriteMode } from '@sluice/contracts'
import { failpoint } from '@sluice/process'
import {
  assertCurrentAttempt,
  keepsRows,
  LeaseLost,
  type PlannedTable,
  type PlanOptions,
  type Publication,
  type PublishOptions,
  busyProblem,
  WarehouseProblem,
} from '../../warehouse.ts'
import { isUnchanged, type MergedRows, noMergedRows, profileToPublish } from '../../load-target.ts'
import { assertReadyToPublish, findParentLoad, wasKeyedBy } from '../../staged-load-checks.ts'
import { columnsToReplace, suppliedColumnNames } from '../../shape/previous-source-columns.ts'
import { reportRowLoss } from '../../shape/plan-load.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { affectsViews } from '../views/dependent-views.ts'
import { executeStatement } from '../protocol/http-client.ts'
import { keepReplaced } from './replaced-tables.ts'
import {
  type ProposedTable,
  type LedgerEntry,
  findLedgerEntry,
  isFenced,
  listProposals,
  writeProposal,
  proposeFence,
  findPublication,
} from '../publication-ledger.ts'
import {
  assertTableOwned,
  type ClickHouseStagedTable,
  completeStaging,
  toMeasuredLoad,
} from '../staging/staged-table.ts'
import { countMergedRows, countRowsAfterMerge, findDuplicates, writeMergedTable } from './merge-increments.ts'
import { databaseOf, quoteIdentifier } from '../sql-identifiers.ts'
import { previousSourceShape, planTableAfterLoad } from '../staging/plan-load.ts'
import { assertViewsCompile, listPlainReaders } from '../views/replace-view.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import {
  concurrentlyChanged,
  recordDecision,
  applyDecision,
  completePendingPublication,
  listDecisions,
} from './publication-recovery.ts'
import { type ClickHouseShape, hasRows, readShape } from '../table-shape.ts'

/**
 * The number of tries to record a decision, and the milliseconds between later tries. Each try first completes the
 * pending decision of another publication.
 */
const decisionRetries = { tries: 40, triesWithoutWait: 3, wait: 250 }

/**
 * Publishes a run, that is, swaps its loaded tables in; see `Loader.publish`. `publication-recovery.ts` describes the
 * commit protocol. Either all tables of the run are published or none. Each table switches atomically, but readers may
 * see one table switch before another.
 */
export async function publishRun(
  access: ClientAccess,
  stagedTables: readonly ClickHouseStagedTable[],
  isCurrentAttempt: () => Promise<boolean>,
  signal: AbortSignal,
  options: PublishOptions & { keepDays: number },
): Promise<Publication> {
  const loads = stagedTables.toSorted((one, other) => (one.qualifiedName < other.qualifiedName ? -1 : 1))
  const [firstLoad] = loads
  if (!firstLoad) throw new Error('Nothing to publish.')
  const { run, attempt } = firstLoad.target
  const { mode } = options
  try {
    await completePendingPublication(access)
    const earlierPublication = await findPublication(access, run)
    if (earlierPublication) {
      await dropRunDatabases(access, loads, { keepDays: options.keepDays })
      return earlierPublication
    }
    for (const load of loads) await completeStaging(access, load, keepsRows(mode))
    await assertReadyToPublish(
      loads,
      {
        mode,
        gate: options.gate,
        findDuplicates: (load, columns) => findDuplicates(access.read, columns, load.stagingTable, signal),
      },
      signal,
    )
    const proposals: ProposedTable[] = []
    const publicationId = randomUUID()
    const comparisons: LoadComparison[] = []
    for (const load of loads) comparisons.push(await compareLoad(access, load, loads, mode, signal))
    // The table that lists the other tables does not count. If no other table changes, it keeps the numbers of rows
    // that an earlier run read.
    const changesNothing = comparisons.every(
      ({ isTableUnchanged, load, currentShape }) => isTableUnchanged || (load.target.listsTables && currentShape),
    )
    for (const comparison of comparisons)
      proposals.push(await prepareProposal(access, publicationId, comparison, { ...options, changesNothing }, signal))
    await failpoint('before-swap')
    signal.throwIfAborted()
    await writeProposal(access, proposals)
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    for (const load of loads) load.decided = true
    await waitForDecision(access, publicationId, () => concurrentlyChanged(firstLoad.target))
    const isApplied = await applyDecision(access, publicationId)
    // An abandoned publication does not need its staging tables. After an error, another process may still complete it.
    for (const load of loads) load.decided = isApplied
    const publication = await findPublication(access, run)
    if (!publication) throw concurrentlyChanged(firstLoad.target)
    await failpoint('published')
    await dropRunDatabases(access, loads, options)
    return publication
  } catch (error) {
    throw warehouseProblem(error, firstLoad.qualifiedName)
  }
}

/**
 * Prevents this attempt and earlier ones from publishing the run from now on. Returns the publication if the run is
 * already published. See `Loader.fenceRun`. No lock covers the time between an attempt's fence check (whether the
 * attempt still owns the run) and its decision to publish. Therefore the fence is a decision of the same protocol: a
 * publication of these attempts is either decided before the fence, or abandoned when it is applied.
 */
export async function fenceRun(
  access: ClientAccess,
  fencedAttempt: { run: string; attempt: number },
): Promise<Publication | undefined> {
  await completePendingPublication(access)
  const earlierPublication = await findPublication(access, fencedAttempt.run)
  if (earlierPublication) return earlierPublication
  // An attempt writes its proposal before its fence check. So an attempt without a proposal has not checked yet and
  // will fail the check.
  const proposals = await listProposals(access, fencedAttempt)
  if (proposals.length === 0) return undefined
  const publicationId = randomUUID()
  await proposeFence(access, publicationId, fencedAttempt)
  await waitForDecision(access, publicationId, publicationInProgress)
  await applyDecision(access, publicationId)
  const decidedPublication = await findPublication(access, fencedAttempt.run)
  if (decidedPublication) return decidedPublication
  // While a process deletes a decision, a second one may exist for a moment.
  const decisions = await listDecisions(access)
  const mayStillBePublished = proposals.some((proposal) => decisions.includes(proposal))
  if (mayStillBePublished) throw publicationInProgress()
  // A worker of an older version may have deleted the fence decision without recording the fence.
  if (!(await isFenced(access, fencedAttempt))) throw publicationInProgress()
  return undefined
}

const publicationInProgress = () =>
  busyProblem('Other runs keep publishing to this warehouse. The run is retried automatically.')

/**
 * Records this publication as the pending decision, after completing the pending decisions of others. Throws
 * `timeoutProblem` if it does not succeed within `decisionRetries.tries` tries.
 */
export async function waitForDecision(
  access: ClientAccess,
  publication: string,
  timeoutProblem: () => WarehouseProblem,
): Promise<void> {
  for (let tries = 0; tries < decisionRetries.tries; tries += 1) {
    if (await recordDecision(access, publication)) return
    // Another publication is the pending decision; complete it first.
    await completePendingPublication(access)
    if (tries >= decisionRetries.triesWithoutWait) await sleep(decisionRetries.wait)
  }
  throw timeoutProblem()
}

/**
 * Drops the databases of a published run. First moves the tables that the run replaced, which the swap has left there,
 * to the kept tables. Runs in the background if the caller passed `onBackgroundWork`. Ignores errors, because
 * maintenance repeats the cleanup.
 */
async function dropRunDatabases(
  access: ClientAccess,
  loads: readonly ClickHouseStagedTable[],
  options: Pick<PublishOptions, 'onBackgroundWork'> & { keepDays: number },
): Promise<void> {
  const databases = new Set(loads.map(({ database }) => database))
  const cleanup = Promise.allSettled(
    [...databases].map(async (database) => {
      await keepReplaced(access, database, options.keepDays)
      await executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`)
    }),
  ).then(() => {})
  if (options.onBackgroundWork) options.onBackgroundWork(cleanup)
  else await cleanup
}

interface LoadComparison extends Awaited<ReturnType<typeof compareWithTable>> {
  load: ClickHouseStagedTable
  /** The load of the parent records to which the rows belong. */
  parentLoad: ClickHouseStagedTable | undefined
  /** The rows that a merge changes; undefined if the load replaces the table. */
  merged: MergedRows | undefined
  /** Whether the merge leaves all rows and columns as they are. */
  isTableUnchanged: boolean
}

/** Compares a load with its table, see `compareWithTable`. For a merge, also counts the rows that it changes. */
async function compareLoad(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  loads: readonly ClickHouseStagedTable[],
  mode: WriteMode = 'REPLACE',
  signal: AbortSignal,
): Promise<LoadComparison> {
  const parentLoad = findParentLoad(loads, load.target)
  const comparison = { ...(await compareWithTable(access, load, mode)), load, parentLoad }
  if (!keepsRows(mode)) return { ...comparison, merged: undefined, isTableUnchanged: false }
  return { ...comparison, ...(await compareRows(access, comparison, signal)) }
}

/** Counts the rows that a merge changes. Also returns whether it leaves all rows and columns as they are. */
async function compareRows(
  access: ClientAccess,
  { load, parentLoad, currentShape, staging }: Omit<LoadComparison, 'merged' | 'isTableUnchanged'>,
  signal: AbortSignal,
): Promise<{ merged: MergedRows; isTableUnchanged: boolean }> {
  if (!currentShape) return { merged: { ...noMergedRows, added: await load.count() }, isTableUnchanged: false }
  const merged = await countMergedRows(access, { load, parentLoad, staging, currentShape }, signal)
  const hasSameShape =
    wasKeyedBy(currentShape.columns, load.keys) && describeShape(currentShape) === describeShape(staging)
  const isPublishedLoad = currentShape.metadata?.load !== undefined
  return { merged, isTableUnchanged: isPublishedLoad && hasSameShape && isUnchanged(merged) }
}

const describeShape = ({ columns }: ClickHouseShape): string =>
  JSON.stringify(columns.map(({ name, label, type }) => [name, label, type]).toSorted())

/**
 * Returns the proposal to publish one table, with its ledger entry. For a merge that changes rows, first writes the
 * merged table, which is then published instead of the staging table. `changesNothing` says that no table of the run
 * changes.
 */
async function prepareProposal(
  access: ClientAccess,
  publication: string,
  comparison: LoadComparison,
  { mode = 'REPLACE', cursors = {}, changesNothing }: PublishOptions & { changesNothing: boolean },
  signal: AbortSignal,
): Promise<ProposedTable> {
  const { load, currentShape, staging, sourceShape, changes, earlierEntry } = comparison
  const { run, attempt, schema, table, listsTables } = load.target
  const mergedTable = await prepareMergedTable(access, comparison, { mode, changesNothing }, signal)
  const stagedRows = await load.count()
  const profile = profileToPublish(load, mergedTable && { rows: stagedRows, earlierProfile: earlierEntry?.profile })
  const mergedRows = changesNothing ? noMergedRows : comparison.merged
  const entry: LedgerEntry = {
    rows: stagedRows,
    bytes: load.written?.bytes ?? 0,
    changes,
    fedColumns: suppliedColumnNames(sourceShape),
    feed: sourceShape,
    tableRows: mergedTable?.rows ?? stagedRows,
    staged: mergedTable?.uuid ?? staging.uuid,
    ...(currentShape && { rowsBefore: earlierEntry?.tableRows ?? currentShape.rows }),
    ...(comparison.merged && { merged: mergedRows }),
    ...(listsTables && { listsTables: true as const }),
    ...(cursors[table] !== undefined && { cursor: cursors[table] }),
    ...(profile && { profile }),
  }
  const publishedLoad = mergedTable?.load ?? load.metadata.load
  return { publication, run, attempt, schema, table, load: publishedLoad, base: currentShape?.uuid ?? '', entry }
}

/**
 * Returns the table with all rows after a merge: the published table if the run changes nothing, so that a restore
 * still undoes the run before it; otherwise a new table, which this function writes. Returns undefined if the load
 * replaces the table or creates it.
 */
async function prepareMergedTable(
  access: ClientAccess,
  { load, parentLoad, currentShape, staging, earlierEntry }: LoadComparison,
  { mode, changesNothing }: { mode: WriteMode; changesNothing: boolean },
  signal: AbortSignal,
): Promise<{ load: string; uuid: string; rows: number } | undefined> {
  if (!keepsRows(mode) || !currentShape) return undefined
  if (!changesNothing) return writeMergedTable(access, { load, parentLoad, staging, currentShape }, signal)
  return {
    load: currentShape.metadata!.load!,
    uuid: currentShape.uuid,
    rows: earlierEntry?.tableRows ?? currentShape.rows,
  }
}

/**
 * Compares the published table with its staging table and returns both with the changes of columns and rows. Stores the
 * columns of the last load in `load.previouslySupplied`. Throws if the rows may not be published:
 *
 * - `assertTableOwned`: no load created the published table.
 * - `LeaseLost`: the staging table is gone.
 * - `assertStagingKept`: another table has the name of the staging table.
 * - `concurrentlyChanged`: another run has changed the published table in the meantime.
 * - `reportRowLoss`: the table would lose too many rows.
 * - `assertViewsCompile`: a view would be invalid with the new columns.
 */
async function compareWithTable(access: ClientAccess, load: ClickHouseStagedTable, mode: WriteMode) {
  const { run, attempt, schema, table } = load.target
  const currentShape = await readShape(access.service, databaseOf({ key: access.key, schema }), table)
  assertTableOwned(currentShape, load.qualifiedName)
  const stagingShape = await readShape(access.service, load.database, table)
  if (!stagingShape)
    throw new LeaseLost(
      `The staging table of attempt ${attempt} of run ${run} no longer exists. Another attempt may have taken over the run.`,
    )
  assertStagingKept(load, stagingShape)
  const earlierEntry = await findLedgerEntry(access, currentShape?.metadata?.load)
  load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape, earlierEntry), load.target.shape)
  const measuredLoad = { ...toMeasuredLoad(load), merging: keepsRows(mode) }
  const { table: plan, sourceShape } = planTableAfterLoad(currentShape, earlierEntry, measuredLoad, {
    ...stagingShape,
    filledNames: load.filledColumns,
  })
  // `completeStaging` has added missing columns to the staging table and widened others. If such columns exist now,
  // another run has changed the published table in between.
  const isStagingIncomplete = plan.missing.length > 0 || plan.restaged.length > 0
  if (isStagingIncomplete) throw concurrentlyChanged(load.target)
  const replacesRows = currentShape !== undefined && mode === 'REPLACE'
  const rowLoss = replacesRows ? reportRowLoss(load.target, earlierEntry?.tableRows, await load.count()) : []
  const changes = [...plan.changes, ...rowLoss]
  if (affectsViews(changes)) {
    const place = { schema, name: table }
    await assertViewsCompile(access, await listPlainReaders(access, place), place, load.stagingTable)
  }
  return { currentShape, staging: stagingShape, sourceShape, changes, earlierEntry }
}

/**
 * Throws if another table has taken the name of the staging table, or it has computed columns now. An organisation's
 * SQL may write to all of its staging tables, and so can replace them.
 */
function assertStagingKept(load: ClickHouseStagedTable, staging: ClickHouseShape): void {
  if (staging.uuid === load.uuid && hasRows(staging) && staging.computed.length === 0) return
  throw new WarehouseProblem(
    'TRANSFORMATION_FAILED',
    `The staging table of ${load.qualifiedName} was replaced by another table before the publication, so nothing was published. Find the transformation that writes to staging tables of other pipelines and correct it.`,
  )
}

/** See `Loader.plan`. Does the same as `publishRun` up to the decision, and publishes nothing. */
export async function planTables(
  access: ClientAccess,
  stagedTables: readonly ClickHouseStagedTable[],
  { mode = 'REPLACE', gate, onPlan }: PlanOptions,
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const loads = stagedTables.toSorted((one, other) => (one.qualifiedName < other.qualifiedName ? -1 : 1))
  const [firstLoad] = loads
  if (!firstLoad) return []
  const tables: PlannedTable[] = []
  try {
    await completePendingPublication(access)
    for (const load of loads) await completeStaging(access, load, keepsRows(mode))
    await assertReadyToPublish(
      loads,
      {
        mode,
        // `assertReadyToPublish` calls this after its key checks. So the plan is made after them, as in a publication,
        // and reported before the caller's gate runs.
        async gate(readyTables, gateSignal) {
          for (const load of loads) tables.push(await planLoadedTable(access, loads, load, mode, signal))
          await onPlan?.(tables)
          await gate?.(readyTables, gateSignal)
        },
        findDuplicates: (load, columns) => findDuplicates(access.read, columns, load.stagingTable, signal),
      },
      signal,
    )
    return tables
  } catch (error) {
    throw warehouseProblem(error, firstLoad.qualifiedName)
  }
}

/** Returns how the publication will change the rows and columns of one table. */
async function planLoadedTable(
  access: ClientAccess,
  loads: readonly ClickHouseStagedTable[],
  load: ClickHouseStagedTable,
  mode: WriteMode,
  signal: AbortSignal,
): Promise<PlannedTable> {
  const { schema, table, listsTables } = load.target
  const tableListField = listsTables && { listsTables }
  const { currentShape, staging, changes, earlierEntry } = await compareWithTable(access, load, mode)
  const parentLoad = findParentLoad(loads, load.target)
  const rowsAfter =
    currentShape && keepsRows(mode)
      ? await countRowsAfterMerge(access, { load, parentLoad, staging, currentShape }, signal)
      : await load.count()
  if (!currentShape) return { schema, table, rowsAfter, changes: [], ...tableListField }
  const rowsBefore = earlierEntry?.tableRows ?? currentShape.rows
  return { schema, table, rowsBefore, rowsAfter, changes, ...tableListField }
}
