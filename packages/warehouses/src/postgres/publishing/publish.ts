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
import { describeReadyTable } from '../../ready-to-publish.ts'
import { suppliedColumnNames } from '../../shape/previous-source-columns.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { findPublication } from '../postgres-catalog.ts'
import { type RetentionPolicy, keepReplaced } from './replaced-tables.ts'
import { enterLedger, enterRun, type LedgerEntry, idleTransactionTimeout } from './ledger.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { prepareMerges } from './merge.ts'
import { waitForOlderSnapshots } from '../copy/older-snapshots.ts'
import { commitSwaps, retryableCodes } from './commit-swaps.ts'
import { interruptAutovacuum, lockTables, planSwap, type TableSwap } from './table-swap.ts'
import { completeStagingTable, indexAndAnalyze } from './index-and-analyze.ts'
import { copyStatistics } from './planner-statistics.ts'
import { type ProblemContext, viewsDepend, warehouseProblem } from '../problems.ts'
import { dropReplaced } from '../staging-table-ddl.ts'

/** Lock time-outs in milliseconds, one per try. New readers queue after a waiting try, so the first tries are short. */
const lockTimeoutsMs = [100, 250, 500, 1000, 2000, 2000]

/** After these tries: the lock time-out of each further try, and the pause between tries, both in milliseconds. */
const shortLockTimeoutMs = 100
const retryPauseMs = 2_000

/** SQLSTATE lock_not_available: the lock time-out has passed. */
const lockNotAvailable = '55P03'

/** The loads to publish, and the role `read` that gets access to their tables. */
interface PublishRequest {
  pools: PostgresPools
  loads: readonly PostgresStagedTable[]
  read: string
  retention: RetentionPolicy
  isCurrentAttempt: () => Promise<boolean>
  options: PublishOptions
  /** The maximum time that the publication waits for readers of the tables, in milliseconds. */
  waitMs: number
}

/**
 * Publishes a run, that is, swaps its loaded tables in; see `Loader.publish`. PostgreSQL has transactional DDL, so one
 * transaction contains the ledger row, the check that this attempt still owns the run, and the swap of all tables. An
 * abort rolls back any step, including a long merge. An abort during the swap takes effect after it, which is a few
 * milliseconds or one lock time-out later.
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
    (lockTimeoutMs) =>
      swapAll({ ...request, loads }, lockTimeoutMs, signal).catch((error: unknown) => {
        // The next try reads the shapes again, because another load may have published.
        for (const load of loads) load.shapes = undefined
        throw error
      }),
  )
}

/**
 * The maximum time that a publication waits for readers of its table, in milliseconds, and the callbacks that report
 * the wait.
 */
export interface SwapOptions extends Pick<PublishOptions, 'onBackgroundWork' | 'onWait'> {
  waitMs: number
}

/**
 * Retries `swap` while readers hold the table, for at least the number of tries in `lockTimeoutsMs` and then until
 * `waitMs` have passed. `swap` receives the lock time-out of each try, in milliseconds. Calls `onWait` once after the
 * first tries. The first tries also repeat other retryable errors.
 */
export async function retryWhileTableIsRead<T>(
  problemContext: ProblemContext,
  { waitMs, onWait }: SwapOptions,
  signal: AbortSignal,
  swap: (lockTimeoutMs: number) => Promise<T>,
): Promise<T> {
  await failpoint('before-swap')
  const deadlineMs = performance.now() + waitMs
  for (let failedTries = 0; ; failedTries += 1) {
    signal.throwIfAborted()
    try {
      return await swap(lockTimeoutsMs[failedTries] ?? shortLockTimeoutMs)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      const isEarlyTry = failedTries + 1 < lockTimeoutsMs.length && retryableCodes.has(code)
      const shouldRetry = isEarlyTry || (code === lockNotAvailable && performance.now() < deadlineMs)
      if (!shouldRetry) throw wideningProblem(error, problemContext) ?? warehouseProblem(error, problemContext)
    }
    if (failedTries + 1 === lockTimeoutsMs.length)
      onWait?.(
        `The publication of ${problemContext.qualifiedName} waits for queries that read it. It continues when they have ended.`,
      )
    await sleep((lockTimeoutsMs[failedTries] ?? retryPauseMs) * (0.5 + Math.random() / 2), undefined, { signal }).catch(
      () => {},
    )
  }
}

/**
 * Runs the slow steps that block no reader. Returns the loads in the order in which their tables must be locked, which
 * prevents deadlocks.
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
  describeReadyTable(load, keepsRows(options.mode) && !load.copiedRows, load.records)

async function waitUntilVisible(
  { pools, options, waitMs }: PublishRequest,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<void> {
  const olderSnapshots = loads.flatMap((load) => load.older)
  await waitForOlderSnapshots(pools.statements, olderSnapshots, { waitMs, onWait: options.onWait }, signal).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw warehouseProblem(error, loads[0]!.problemContext)
    },
  )
}

/**
 * Publishes all loads in one transaction, then drops what they replaced, in the background if possible. Returns the
 * earlier publication if another attempt has already published the run.
 */
async function swapAll(
  { pools, loads, read, retention, isCurrentAttempt, options }: PublishRequest,
  lockTimeoutMs: number,
  signal: AbortSignal,
): Promise<Publication> {
  const { run, attempt } = loads[0]!.target
  const { ledgerKey } = retention
  const {
    publication,
    swaps,
    freed: freedTables,
  } = await withClient(pools.transactions, signal, async (client, borrowedClient) => {
    const beginSql = `begin; set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = '30s'; ${idleTransactionTimeout}`
    await lockTables(client, loads, beginSql, lockTimeoutMs)
    const publishedAt = await enterRun(client, ledgerKey, { run, attempt })
    if (!publishedAt) return { publication: await readEarlierPublication(client, run), swaps: [], freed: [] }
    const swaps: TableSwap[] = []
    for (const load of loads) swaps.push(await planSwap(client, load, options.mode, read))
    await enterLedger(
      client,
      ledgerKey,
      run,
      swaps.map((swap) => entryOf(swap, options)),
    )
    const freedTables = await keepReplaced(client, retention, run, swaps.map(replacedTable))
    await assertCurrentAttempt({ run, attempt }, isCurrentAttempt, signal)
    borrowedClient.ignoreAbort()
    await commitSwaps(
      client,
      swaps.map(({ load, ...swap }) => ({ ...swap, qualifiedName: load.problemContext.qualifiedName })),
    )
    // After a merge in place, the staging table does not become the published partition, so it is dropped.
    for (const { load, partition } of swaps) load.published = partition === load.stagingTable
    return {
      publication: { run, attempt, publishedAt, ...sumTables(swaps.map(({ published }) => published)) },
      swaps,
      freed: freedTables,
    }
  })
  await failpoint('published')
  const cleanup = cleanUp(pools, swaps, freedTables)
  if (options.onBackgroundWork) options.onBackgroundWork(cleanup)
  else await cleanup
  return publication
}

/** Returns the table version that a swap replaces, for the list of kept tables. */
const replacedTable = ({ load, partition, oldPartition }: TableSwap) => ({
  schema: load.target.schema,
  table: load.target.table,
  partition: oldPartition ?? null,
  inPlace: partition !== load.stagingTable,
})

/**
 * Drops replaced partitions and copies statistics. Never throws, because the publication is already committed. A
 * maintenance sweep drops partitions that remain, and the next load copies missing statistics.
 */
async function cleanUp(pools: PostgresPools, swaps: readonly TableSwap[], freed: readonly string[]): Promise<void> {
  await Promise.allSettled([
    ...freed.map((partition) => dropReplaced(pools.statements, partition)),
    ...swaps.map(({ load, partition }) => load.published && copyStatistics(pools, { ...load.target, partition })),
  ])
  if (pools.databaseBytes) await pools.makeRoom(pools.databaseBytes).catch(() => {})
}

function entryOf(
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

export async function readEarlierPublication(client: PoolClient, run: string): Promise<Publication> {
  await client.query('rollback')
  const publication = await findPublication(client, run)
  if (!publication) throw busyProblem('Another attempt of this run is publishing. The run is retried automatically.')
  return publication
}

export function sumTables(tables: PublishedTable[]) {
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables,
  }
}

/**
 * Returns the problem if an object that `planSwap` did not handle, such as an unknown view, prevents widening a column.
 */
function wideningProblem(error: unknown, problemContext: ProblemContext): WarehouseProblem | undefined {
  const { code, detail } = error as { code?: string; detail?: string }
  if (code !== '0A000' && code !== '2BP01') return undefined
  return viewsDepend(problemContext, detail ?? 'unnamed', error)
}
