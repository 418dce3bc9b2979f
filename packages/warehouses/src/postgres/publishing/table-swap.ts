import type { WriteMode } from '@sluice/contracts'
import type { ClientBase } from 'pg'
import { noMergedRows, type ProfileReference, profileToPublish, type TableChange } from '../../load-target.ts'
import { keepsRows, type PublishedTable } from '../../warehouse.ts'
import { type DependentView, listDependentViews } from '../views/dependent-views.ts'
import { type SourceShape, columnsToReplace } from '../../shape/previous-source-columns.ts'
import { reportRowLoss } from '../../shape/plan-load.ts'
import { type TypedColumn, completeStaging, createTable, planEvolution, planPublication } from './plan-publishing.ts'
import type { TablePlan } from '../../shape/plan-table.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import { type PostgresStagedTable, readLoadShapes } from '../staged-table.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { type ProblemContext, tableNotOwned, viewsDependProblem } from '../map-server-errors.ts'
import { concurrentlyChanged, fitsInPlace } from './merge-increments.ts'
import { mergeInPlace } from './merge-in-place.ts'
import { qualifyName } from '../sql-identifiers.ts'
import type { PostgresShape } from '../table-shape.ts'

export interface TableSwap {
  load: PostgresStagedTable
  /**
   * The DDL statements that change what readers see. They run after all dependent views are dropped and before these
   * are recreated.
   */
  statements: string[]
  /** The partition that stores the rows after the swap. */
  partition: string
  /** The number of rows in the whole table after the swap. */
  tableRows: number
  /** Views that PostgreSQL requires to be dropped for the swap. A view comes after the views that it reads. */
  views: DependentView[]
  /** The partition that `statements` detach. Afterwards it is kept for a restore, or dropped. */
  oldPartition?: string
  published: PublishedTable
  sourceShape: SourceShape
  profile: ProfileReference | undefined
}

/**
 * Begins the publishing transaction with `beginSql` and locks the tables of all loads. The locks exclude other
 * publishers, but not readers. Reads the shapes of the tables under the locks. If another load has published since the
 * shapes were read, locks again, because the table then has another partition.
 */
export async function lockTables(
  client: ClientBase,
  loads: readonly PostgresStagedTable[],
  beginSql: string,
  lockTimeoutMs: number,
): Promise<void> {
  if (loads.some(({ shapes }) => !shapes)) await readLoadShapes(client, loads)
  // Sends BEGIN in one message with the first locks.
  let statementsBeforeLocks = [beginSql]
  for (;;) {
    const lockedPartitions = loads.map(partitionOf)
    const locks = loads.flatMap((load) => lockStatements(load, lockTimeoutMs))
    await client.query([...statementsBeforeLocks, ...locks].join(';'))
    statementsBeforeLocks = []
    await readLoadShapes(client, loads)
    const areLocksCurrent = loads.every((load, index) => partitionOf(load) === lockedPartitions[index])
    if (areLocksCurrent) return
  }
}

/** Returns the partition of the published table; null if it has none, and undefined if the table does not exist. */
function partitionOf({ shapes }: PostgresStagedTable): string | null | undefined {
  const { currentShape } = shapes!
  return currentShape && (currentShape.partition ?? null)
}

/**
 * Returns the statements that lock the table and keep autovacuum off its partition and the staging table until the
 * transaction ends. `createStaging` disabled autovacuum of the staging table, and these statements enable it for the
 * time afterwards. Throws if the table belongs to another owner.
 */
function lockStatements(load: PostgresStagedTable, lockTimeoutMs: number): string[] {
  const { schema, table } = load.target
  const { currentShape } = load.shapes!
  const staging = qualifyName('sluice', load.stagingTable)
  const stagingStatements = [
    blockAutovacuum(staging, lockTimeoutMs),
    `alter table ${staging} reset (autovacuum_enabled)`,
  ]
  if (!currentShape) return stagingStatements
  if (!currentShape.owned) throw tableNotOwned(load.problemContext)
  const { partition } = currentShape
  return [
    ...stagingStatements,
    `lock table only ${qualifyName(schema, table)} in share update exclusive mode`,
    ...(partition === undefined ? [] : [blockAutovacuum(qualifyName('sluice', partition), lockTimeoutMs)]),
  ]
}

/**
 * Prepares the swap of one table, which `lockTables` has locked. Returns the statements that remain for the commit. In
 * the publishing transaction, already creates a table that does not exist, adds missing columns to the staging table,
 * and executes a merge in place. Throws if the table belongs to another owner, another load has changed it, or views of
 * other roles block the change.
 */
export async function prepareSwap(
  client: ClientBase,
  load: PostgresStagedTable,
  mode: WriteMode | undefined,
  readRole: string,
): Promise<TableSwap> {
  const { currentShape, staging: stagingShape } = load.shapes!
  if (!currentShape) return createNewTable(client, load, stagingShape, mode, readRole)
  if (!currentShape.owned) throw tableNotOwned(load.problemContext)
  const { lastPublication } = currentShape
  const isMerge = keepsRows(mode) && currentShape.partition !== undefined
  const { table: plan, sourceShape } = planPublication(load, {
    currentShape,
    staging: stagingShape,
    merging: isMerge,
  })
  const description = describePublishedTable(load)
  const { rows } = description
  const rowLoss = isMerge ? [] : reportRowLoss(load.target, lastPublication?.tableRows, rows)
  const published: PublishedTable = {
    ...description,
    changes: [...plan.changes, ...rowLoss],
    ...(lastPublication && { rowsBefore: lastPublication.tableRows }),
  }
  const profile = profileToPublish(load, isMerge ? { rows, earlierProfile: lastPublication?.profile } : undefined)
  const swap = { load, partition: load.stagingTable, tableRows: rows, views: [], published, sourceShape, profile }
  const table = qualifyName(load.target.schema, load.target.table)
  const evolution = planEvolution(table, currentShape, plan, load.suppliedColumns)
  if (!isMerge) return prepareReplacement(client, swap, { currentShape, plan, evolution, readRole })
  if (!load.copiedRows) return executeMergeInPlace(client, swap, currentShape, stagingShape, evolution.tableStatements)
  const swapWithCopiedRows = addCopiedRows(swap, lastPublication?.run)
  return prepareReplacement(client, swapWithCopiedRows, { currentShape, plan, evolution, readRole })
}

type PreparedSwap = Omit<TableSwap, 'statements'>

/**
 * Adds the published rows that `prepareMerges` copied to the staging table to the row count of a swap. Throws a
 * retryable problem if another run has published the table since the copy. `lastRun` is the run that last published it.
 */
function addCopiedRows(swap: PreparedSwap, lastRun: string | undefined): PreparedSwap {
  const { copiedRows, comparison } = swap.load
  if (copiedRows!.from !== lastRun) throw concurrentlyChanged(swap.load)
  return {
    ...swap,
    tableRows: swap.tableRows + copiedRows!.rows,
    published: { ...swap.published, ...(comparison && { merged: comparison.merged }) },
  }
}

interface ReplacementPlan {
  currentShape: PostgresShape
  plan: TablePlan<TypedColumn>
  evolution: ReturnType<typeof planEvolution>
  readRole: string
}

/**
 * Prepares that the staging table replaces the published partition: adds missing columns to the staging table, and
 * returns the swap with the statements for the commit and the views that must be recreated.
 */
async function prepareReplacement(
  client: ClientBase,
  swap: PreparedSwap,
  { currentShape, plan, evolution, readRole }: ReplacementPlan,
): Promise<TableSwap> {
  const { load, published } = swap
  const table = qualifyName(load.target.schema, load.target.table)
  const staging = qualifyName('sluice', load.stagingTable)
  for (const statement of completeStaging(staging, plan)) await client.query(statement)
  const changeTable = evolution.rebuild
    ? [`drop table ${table}`, ...createTable(table, plan.columns, readRole)]
    : evolution.tableStatements
  const { partition: oldPartition } = currentShape
  const detachOldPartition = oldPartition
    ? [`alter table ${table} detach partition ${qualifyName('sluice', oldPartition)}`]
    : []
  const attachStaging = `alter table ${table} attach partition ${staging} default`
  const views = await listBlockingViews(client, load.problemContext, currentShape, plan, evolution.rebuild)
  const changesTypes = published.changes.some(({ kind }) => kind === 'TYPE_WIDENED' || kind === 'TYPE_CHANGED')
  const viewChanges = changesTypes ? describeRecreatedViews(views) : []
  return {
    ...swap,
    published: { ...published, changes: [...published.changes, ...viewChanges] },
    statements: [...detachOldPartition, ...changeTable, attachStaging],
    views,
    ...(oldPartition && { oldPartition }),
  }
}

/** Describes a published table with the counts of its load, without changes. */
function describePublishedTable({ target, written }: PostgresStagedTable): PublishedTable {
  const { schema, table, listsTables } = target
  const { rows, bytes } = written!
  return { schema, table, rows, bytes, changes: [], ...(listsTables && { listsTables }) }
}

/**
 * Creates a table that does not exist yet, in the publishing transaction. Returns the remaining statement for the
 * commit, which attaches the staging table as the table's partition, and the data for the ledger.
 */
async function createNewTable(
  client: ClientBase,
  load: PostgresStagedTable,
  stagingShape: PostgresShape,
  mode: WriteMode | undefined,
  readRole: string,
): Promise<TableSwap> {
  // The copied rows are rows of a table that another run has dropped since.
  if (load.copiedRows) throw concurrentlyChanged(load)
  const table = qualifyName(load.target.schema, load.target.table)
  await client.query(createTable(table, stagingShape.columns, readRole).join(';'))
  const { table: plan, sourceShape } = planPublication(load, {
    currentShape: undefined,
    staging: stagingShape,
    merging: false,
  })
  const published = { ...describePublishedTable(load), changes: plan.changes }
  if (keepsRows(mode)) published.merged = { ...noMergedRows, added: published.rows }
  return {
    load,
    partition: load.stagingTable,
    tableRows: published.rows,
    views: [],
    published,
    statements: [`alter table ${table} attach partition ${qualifyName('sluice', load.stagingTable)} default`],
    sourceShape,
    profile: profileToPublish(load, undefined),
  }
}

const maxNamedViews = 10

/**
 * Returns the change that reports the plain (not materialised) views which the publication recreates. Empty if it
 * recreates only materialised views. Users should check these views: PostgreSQL adds casts to view definitions, so a
 * view over a column that became text can compile and still fail when it is read. Materialised views need no check,
 * because creating them runs their query within the publication.
 */
function describeRecreatedViews(views: readonly DependentView[]): TableChange[] {
  const names = views.filter(({ materialised }) => !materialised).map(({ name }) => name)
  if (names.length === 0) return []
  const moreText = names.length > maxNamedViews ? ` and ${names.length - maxNamedViews} more` : ''
  return [{ kind: 'VIEWS_RECREATED', column: '', to: `${names.slice(0, maxNamedViews).join(', ')}${moreText}` }]
}

/**
 * Returns the statements that publish all tables. Views are dropped first and recreated last, because a reader's query
 * locks the view before the table. A view that reads several of the tables is dropped and created once.
 */
export function statementsOf(
  swaps: readonly (Pick<TableSwap, 'statements'> & { views: readonly DependentView[] })[],
): string[] {
  const allViews = swaps.flatMap(({ views }) => views)
  // A view occurs once per table that it reads. The last occurrence is kept: it comes after all views that the view
  // reads, and before the views that read it.
  const views = allViews.filter(({ name }, index) => index === allViews.findLastIndex((view) => view.name === name))
  return [
    ...views.toReversed().map(({ drop }) => drop),
    ...swaps.flatMap(({ statements }) => statements),
    ...views.flatMap(({ create }) => create),
  ]
}

/**
 * Merges the increment into the published partition, in the publishing transaction. Returns the table's `swap` with the
 * numbers of merged rows and the statements that remain for the commit. Throws a retryable problem if another run has
 * changed the table.
 */
async function executeMergeInPlace(
  client: ClientBase,
  swap: PreparedSwap,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
  tableStatements: string[],
): Promise<TableSwap> {
  const { load } = swap
  const { lastPublication } = currentShape
  // A load with a comparison is only merged in place because it changes no row. That may no longer be true if another
  // run has published since the comparison.
  const isComparisonOutdated = load.comparison !== undefined && load.comparison.run !== lastPublication?.run
  if (!lastPublication || isComparisonOutdated) throw concurrentlyChanged(load)
  load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
  if (!fitsInPlace(load, currentShape, stagingShape)) throw concurrentlyChanged(load)
  const partition = currentShape.partition!
  const mergedRows = await mergeInPlace(client, load, partition, stagingShape)
  // A merge in place adds and widens no column, so `tableStatements` only contains changes of labels.
  const tableRows = lastPublication.tableRows + mergedRows.added - mergedRows.removed
  return {
    ...swap,
    published: { ...swap.published, merged: mergedRows },
    statements: tableStatements,
    partition,
    tableRows,
  }
}

/**
 * Returns the views that read changed or dropped columns, and the views that read those views. If the table is rebuilt,
 * returns all views that read it. Throws VIEWS_DEPEND, with nothing changed, if another role owns one of them.
 */
export async function listBlockingViews(
  client: ClientBase,
  problemContext: ProblemContext,
  currentShape: PostgresShape,
  { retyped, dropped }: Pick<TablePlan<TypedColumn>, 'retyped' | 'dropped'>,
  isRebuilt: boolean,
): Promise<DependentView[]> {
  const columns = [...retyped.map(({ name }) => name), ...dropped]
  if (columns.length === 0) return []
  const views = await listDependentViews(client, currentShape.oid, isRebuilt ? undefined : columns)
  const foreignViews = views.filter(({ owned }) => !owned).map(({ name }) => name)
  if (foreignViews.length > 0) throw viewsDependProblem(problemContext, foreignViews.join(', '))
  return views
}

/**
 * Takes a lock that makes PostgreSQL cancel autovacuum on the table after one second (`deadlock_timeout`). This lock
 * does not block readers. If the swap waited for autovacuum with its exclusive lock instead, readers would queue after
 * it for that second.
 */
const lockAgainstAutovacuum = (table: string) => `lock table only ${table} in share update exclusive mode`

/**
 * Returns SQL that keeps autovacuum off a quoted table until the transaction ends. Afterwards sets the lock time-out to
 * `lockTimeoutMs` milliseconds.
 */
export function blockAutovacuum(table: string, lockTimeoutMs: number): string {
  return `set local lock_timeout = '5s'; ${lockAgainstAutovacuum(table)}; set local lock_timeout = ${lockTimeoutMs}`
}

/** Autovacuum of a partition with fewer rows ends within the second after which PostgreSQL could cancel it. */
const maxQuicklyVacuumedRows = 100_000

/**
 * Cancels autovacuum on the partition that will be replaced, so that the swap need not wait for it. After a large load,
 * autovacuum runs on the partition for minutes. It restarts after one minute at the earliest. Never throws.
 */
export async function interruptAutovacuum(
  { statements }: PostgresPools,
  currentShape: PostgresShape | undefined,
): Promise<void> {
  const { partition, lastPublication } = currentShape ?? {}
  const isSmall = lastPublication !== undefined && lastPublication.tableRows < maxQuicklyVacuumedRows
  if (partition === undefined || isSmall) return
  const lock = lockAgainstAutovacuum(qualifyName('sluice', partition))
  await withClient(statements, undefined, (client) =>
    client.query(`begin; set local lock_timeout = '2s'; ${lock}; commit`),
  ).catch(() => {})
}
