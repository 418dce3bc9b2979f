import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { failpoint } from '@sluice/process'
import {
  type WarehouseProblem,
  assertCurrentAttempt,
  type Publication,
  type PublishedTable,
  type PublishOptions,
  type ReadyTable,
  busyProblem,
  keepsRows,
} from '../../warehouse.ts'
import { describeReadyTable } from '../../staged-load-checks.ts'
import { suppliedColumnNames } from '../../shape/previous-source-columns.ts'
import { type PostgresPools, type BorrowedConnection, withClient } from '../postgres-connections.ts'
import { findPublication } from '../postgres-catalog.ts'
import { type RetentionPolicy, keepReplaced } from './replaced-tables.ts'
import { enterLedger, recordPublication, type LedgerEntry, idleTransactionTimeout } from './publication-ledger.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { prepareMerges } from './merge-increments.ts'
import { waitForBlockingSnapshots } from '../copy/blocking-snapshots.ts'
import { commitSwaps, retryableStates } from './commit-swaps.ts'
import { interruptAutovacuum, lockTables, prepareSwap, type TableSwap } from './table-swap.ts'
import { completeStagingTable, indexAndAnalyze } from './index-and-analyze.ts'
import { copyStatistics } from './planner-statistics.ts'
import { type ProblemContext, viewsDependProblem, warehouseProblem } from '../map-server-errors.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { dropReplaced } from '../staging-table-ddl.ts'

/**
 * The lock time-outs of the first tries, in milliseconds. While a try waits for its lock, new readers queue after it,
 * so the first tries are short.
 */
const lockTimeoutsMs = [100, 250, 500, 1000, 2000, 2000]

/** The lock time-out of each later try, and the pause between later tries, both in milliseconds. */
const shortLockTimeoutMs = 100
const retryPauseMs = 2_000

interface PublishRequest {
  pools: PostgresPools
  loads: readonly PostgresStagedTable[]
  /** The role that may read the tables. */
  readRole: string
  retention: RetentionPolicy
  isCurrentAttempt: () => Promise<boolean>
  options: PublishOptions
  /** The maximum time that the publication waits for readers of the tables, in milliseconds. */
  waitMs: number
}

/**
 * See `Loader.publish`. Publishes a run: replaces the published rows of its tables by the staged ones. PostgreSQL has
 * transactional DDL, so one transaction contains the ledger row, the check that this attempt still owns the run, and
 * the swap of all tables. An abort rolls back any step, including a long merge. An abort during the swap takes effect
 * after the swap, which is a few milliseconds or one lock time-out later.
 */
export async function publishRun(request: PublishRequest, signal: AbortSignal): Promise<Publication> {
  const { options } = request
  const [firstLoad] = request.loads
  if (!firstLoad) throw new Error('Nothing to publish.')
  const keepsPrevious = options.keepsPrevious === true && request.retention.days > 0
  const loads = await prepareLoads({ ...request, options: { ...options, keepsPrevious } }, signal)
  await options.gate?.(
    loads.map((load) => readyTableOf(load, options)),
    signal,
  )
  await waitUntilVisible(request, loads, signal)
  return retryWhileTableIsRead(
    firstLoad.problemContext,
    { ...options, waitMs: request.waitMs },
    signal,
    async (lockTimeoutMs) => {
      try {
        return await swapAll({ ...request, loads }, lockTimeoutMs, signal)
      } catch (error) {
        // The next try reads the shapes again, because another load may have published.
        for (const load of loads) load.shapes = undefined
        throw error
      }
    },
  )
}

export interface SwapOptions extends Pick<PublishOptions, 'onBackgroundWork' | 'onWait'> {
  /** The maximum time that the publication waits for readers of its table, in milliseconds. */
  waitMs: number
}

/**
 * Runs `swap` and returns its result. While readers hold a lock on the table, repeats it until `waitMs` have passed,
 * but at least as often as `lockTimeoutsMs` has entries. `swap` receives the lock time-out of each try, in
 * milliseconds. The first tries also repeat other retryable errors. Calls `onWait` once, after the first tries.
 */
export async function retryWhileTableIsRead<T>(
  problemContext: ProblemContext,
  { waitMs, onWait }: SwapOptions,
  signal: AbortSignal,
  swap: (lockTimeoutMs: number) => Promise<T>,
): Promise<T> {
  await failpoint('before-swap')
  const deadlineMs = performance.now() + waitMs
  const firstTries = lockTimeoutsMs.length
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted()
    const firstTimeoutMs = lockTimeoutsMs[tries - 1]
    try {
      return await swap(firstTimeoutMs ?? shortLockTimeoutMs)
    } catch (error) {
      const code = sqlStateOf(error)
      const hasFirstTryLeft = tries < firstTries && retryableStates.has(code)
      const mayWaitForReaders = code === sqlStates.lockNotAvailable && performance.now() < deadlineMs
      if (!hasFirstTryLeft && !mayWaitForReaders)
        throw wideningProblem(error, problemContext) ?? warehouseProblem(error, problemContext)
    }
    if (tries === firstTries)
      onWait?.(
        `The publication of ${problemContext.qualifiedName} waits for queries that read it. It continues when they have ended.`,
      )
    // The random factor prevents that several publishers try at the same time again and again.
    const pauseMs = (firstTimeoutMs ?? retryPauseMs) * (0.5 + Math.random() / 2)
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
  }
}

/**
 * Runs the slow steps that block no reader: completes the staging tables, prepares merges, builds indexes and collects
 * statistics. Returns the loads in the order in which their tables must be locked, which prevents deadlocks.
 */
export async function prepareLoads(
  {
    pools,
    loads: stagedTables,
    options,
  }: Pick<PublishRequest, 'pools' | 'loads'> & { options: Pick<PublishOptions, 'mode' | 'keepsPrevious'> },
  signal: AbortSignal,
): Promise<PostgresStagedTable[]> {
  const loads = stagedTables.toSorted((one, other) =>
    one.problemContext.qualifiedName < other.problemContext.qualifiedName ? -1 : 1,
  )
  const isMerge = keepsRows(options.mode)
  for (const load of loads) await completeStagingTable(pools, load, isMerge, signal)
  if (isMerge) await prepareMerges(pools, loads, options, signal)
  for (const load of loads)
    await Promise.all([indexAndAnalyze(pools, load, signal), interruptAutovacuum(pools, load.shapes!.currentShape)])
  return loads
}

export const readyTableOf = (load: PostgresStagedTable, options: Pick<PublishOptions, 'mode'>): ReadyTable =>
  describeReadyTable(load, keepsRows(options.mode) && !load.copiedRows, load.parentLoad)

/** Waits until every reader's transaction can see the staged rows. Throws a retryable problem after `waitMs`. */
async function waitUntilVisible(
  { pools, options, waitMs }: PublishRequest,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<void> {
  const blockingSnapshots = loads.flatMap((load) => load.blockingSnapshots)
  await waitForBlockingSnapshots(pools.statements, blockingSnapshots, { waitMs, onWait: options.onWait }, signal).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw warehouseProblem(error, loads[0]!.problemContext)
    },
  )
}

/**
 * Publishes all loads in one transaction. If another attempt has already published the run, changes nothing and returns
 * that publication. Then drops replaced partitions, in the background if the caller passes `onBackgroundWork`.
 */
async function swapAll(request: PublishRequest, lockTimeoutMs: number, signal: AbortSignal): Promise<Publication> {
  const { pools, options } = request
  const { publication, swaps, partitionsToDrop } = await withClient(pools.transactions, signal, (_, borrowed) =>
    swapInTransaction(request, borrowed, lockTimeoutMs, signal),
  )
  await failpoint('published')
  const cleanup = cleanUp(pools, swaps, partitionsToDrop)
  if (options.onBackgroundWork) options.onBackgroundWork(cleanup)
  else await cleanup
  return publication
}

interface SwapResult {
  publication: Publication
  swaps: TableSwap[]
  /** The replaced partitions that are not kept for a restore. */
  partitionsToDrop: string[]
}

/** Does the work of `swapAll` up to the commit. */
async function swapInTransaction(
  { loads, readRole, retention, isCurrentAttempt, options }: PublishRequest,
  borrowed: BorrowedConnection,
  lockTimeoutMs: number,
  signal: AbortSignal,
): Promise<SwapResult> {
  const { client } = borrowed
  const { run, attempt } = loads[0]!.target
  const { ledgerKey } = retention
  const beginSql = `begin; set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '30s';
    ${idleTransactionTimeout}`
  await lockTables(client, loads, beginSql, lockTimeoutMs)
  const publishedAt = await recordPublication(client, ledgerKey, { run, attempt })
  if (!publishedAt) return { publication: await readEarlierPublication(client, run), swaps: [], partitionsToDrop: [] }
  const swaps: TableSwap[] = []
  for (const load of loads) swaps.push(await prepareSwap(client, load, options.mode, readRole))
  // Starts the check here, because it waits for the disk. No other attempt can publish, because this one has entered
  // the run.
  const isCurrent = isCurrentAttempt()
  // Prevents an unhandled rejection before `assertCurrentAttempt` awaits the promise.
  isCurrent.catch(() => {})
  const ledgerEntries = swaps.map((swap) => toLedgerEntry(swap, options))
  await enterLedger(client, ledgerKey, run, ledgerEntries)
  const partitionsToDrop = await keepReplaced(client, retention, run, swaps.map(replacedTable))
  await assertCurrentAttempt({ run, attempt }, () => isCurrent, signal)
  // From here on, the commit may succeed, so an abort must not hide its result.
  borrowed.ignoreAbort()
  await commitSwaps(
    client,
    swaps.map(({ load, ...swap }) => ({ ...swap, qualifiedName: load.problemContext.qualifiedName })),
  )
  // After a merge in place, the staging table is not the published partition. Disposing the load then drops it.
  for (const { load, partition } of swaps) load.published = partition === load.stagingTable
  const publishedTables = swaps.map(({ published }) => published)
  return { publication: { run, attempt, publishedAt, ...sumTables(publishedTables) }, swaps, partitionsToDrop }
}

/** Returns the table version that a swap replaces. `inPlace` is true if rows were merged into the old partition. */
const replacedTable = ({ load, partition, oldPartition }: TableSwap) => ({
  schema: load.target.schema,
  table: load.target.table,
  partition: oldPartition ?? null,
  inPlace: partition !== load.stagingTable,
})

/**
 * Drops replaced partitions, copies statistics to the parent tables, and frees space if the database exceeds its size
 * limit. Never throws, because the publication is already committed. A maintenance sweep drops partitions that remain,
 * and the next load copies missing statistics.
 */
async function cleanUp(
  pools: PostgresPools,
  swaps: readonly TableSwap[],
  partitionsToDrop: readonly string[],
): Promise<void> {
  // A partition that was merged in place still has its statistics.
  const newPartitions = swaps.filter(({ load }) => load.published)
  await Promise.allSettled([
    ...partitionsToDrop.map((partition) => dropReplaced(pools.statements, partition)),
    ...newPartitions.map(({ load, partition }) => copyStatistics(pools, { ...load.target, partition })),
  ])
  if (pools.databaseBytes) await pools.makeRoom(pools.databaseBytes).catch(() => {})
}

/** Returns what the ledger stores about one published table. */
function toLedgerEntry(
  { load, partition, tableRows, published, sourceShape, profile }: TableSwap,
  options: PublishOptions,
): LedgerEntry {
  return {
    partition,
    published,
    suppliedColumns: suppliedColumnNames(sourceShape),
    sourceShape,
    mode: options.mode ?? 'REPLACE',
    tableRows,
    cursor: options.cursors?.[load.target.table],
    profile,
  }
}

/**
 * Rolls back the transaction and returns the publication of the run by another attempt. Throws a retryable problem if
 * the other attempt has not committed.
 */
export async function readEarlierPublication(client: PoolClient, run: string): Promise<Publication> {
  await client.query('rollback')
  const publication = await findPublication(client, run)
  if (!publication) throw busyProblem('Another attempt of this run is publishing. The run is retried automatically.')
  return publication
}

/** Returns the tables of a publication with the sums of their rows and bytes. */
export function sumTables(tables: PublishedTable[]) {
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables,
  }
}

/**
 * Returns the problem if an object that `prepareSwap` did not handle, such as a rule, prevents the change of a column's
 * type. Returns undefined for any other error.
 */
function wideningProblem(error: unknown, problemContext: ProblemContext): WarehouseProblem | undefined {
  const code = sqlStateOf(error)
  const isBlockedByObject = code === sqlStates.featureNotSupported || code === sqlStates.dependentObjectsStillExist
  if (!isBlockedByObject) return undefined
  const { detail = 'unnamed' } = error as { detail?: string }
  return viewsDependProblem(problemContext, detail, error)
}
