import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool } from 'pg'
import { type WarehouseProblem, busyProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'
import { copyApplicationName } from './copy-connection.ts'

/**
 * The readers' snapshots that block the publication of staged rows, because they were taken before the rows were
 * committed. Such a reader would find an empty table after the publication.
 */
export interface BlockingSnapshots {
  /** The virtual transaction ids of the readers, such as `12/345`. */
  transactions: string[]
  /**
   * The transaction id that the server would have assigned next, directly after the rows were committed. A snapshot
   * sees the rows if all transactions before this id had ended when it was taken.
   */
  horizon: string
}

/** Milliseconds between the first two polls. Later intervals are longer, up to `maxPollIntervalMs`. */
const pollIntervalMs = 50
const maxPollIntervalMs = 2_000
/** Milliseconds after which the caller is notified that the load waits. */
const notifyAfterMs = 6_000

/**
 * Selects the transactions of other sessions that have a snapshot: `transaction` is the virtual transaction id, `xmin`
 * the oldest transaction that the snapshot regards as in progress. Excludes connections that copy, and sessions without
 * a user: these are server processes such as autovacuum, which never read with an old snapshot. Role `load` may read
 * these columns of all sessions.
 */
const selectReaderTransactions = `select lock.virtualtransaction as transaction, session.backend_xmin as xmin
  from pg_locks as lock join pg_stat_activity as session on session.pid = lock.pid
  where lock.locktype = 'virtualxid'
    and session.datid = (select oid from pg_database where datname = current_database())
    and session.usesysid is not null and session.pid <> pg_backend_pid() and session.backend_xmin is not null
    and not (session.usename = current_user and session.application_name = '${copyApplicationName}')`

/**
 * Lists the transactions that may not see the rows which have just been committed. Call it directly after the commit,
 * so that later transactions are not listed. Needed only for rows that are not frozen, because every snapshot sees
 * frozen rows.
 */
export async function listBlockingSnapshots(client: ClientBase): Promise<BlockingSnapshots> {
  const { rows } = await client.query(
    `select pg_snapshot_xmax(pg_current_snapshot())::text as horizon,
       array(select reader.transaction from (${selectReaderTransactions}) as reader) as transactions`,
  )
  return rows[0]
}

/**
 * Counts those of the transactions that still use a snapshot from before the horizon. `age` is the number of
 * transactions since a transaction id, so an older snapshot has a greater age.
 */
async function countBlockingReaders(
  client: ClientBase,
  transactions: readonly string[],
  horizon: string | undefined,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from (${selectReaderTransactions}) as reader
     where reader.transaction = any($1) and age(reader.xmin) > age($2::xid8::xid)`,
    [transactions, horizon],
  )
  return rows[0]!.count
}

/**
 * Waits until all of these transactions have ended or use a newer snapshot. The previously published rows stay visible
 * until then. Calls `onWait` once if the wait is long.
 *
 * Throws a retryable problem after `waitMs`. The next attempt then reads the source again and freezes the rows, so that
 * every snapshot sees them. It need not wait, unless a transformation changes the rows.
 */
export async function waitForBlockingSnapshots(
  pool: Pool,
  blockingSnapshots: readonly BlockingSnapshots[],
  { waitMs, onWait }: { waitMs: number; onWait?: ((reason: string) => void) | undefined },
  signal: AbortSignal,
): Promise<void> {
  const transactions = blockingSnapshots.flatMap((snapshots) => snapshots.transactions)
  if (transactions.length === 0) return
  // A snapshot that is newer than the highest horizon sees the rows of all loads.
  const [highestHorizon] = blockingSnapshots
    .map(({ horizon }) => horizon)
    .toSorted((one, other) => Number(BigInt(other) - BigInt(one)))
  const startedAt = performance.now()
  let isNotified = false
  for (;;) {
    const readerCount = await withClient(pool, signal, (client) =>
      countBlockingReaders(client, transactions, highestHorizon),
    )
    if (readerCount === 0) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs > waitMs) throw readersNeverEnd(readerCount)
    if (!isNotified && waitedMs > notifyAfterMs) {
      isNotified = true
      onWait?.(
        `${describeReaders(readerCount)} in a transaction that began before the rows were written. The rows are published when it has ended.`,
      )
    }
    // Polls less often the longer it waits.
    const intervalMs = Math.min(maxPollIntervalMs, pollIntervalMs + waitedMs / 10)
    await sleep(intervalMs, undefined, { signal }).catch(() => {})
    // Throws the signal's reason instead of the AbortError of `sleep`.
    signal.throwIfAborted()
  }
}

/** Returns the start of a sentence about the readers. */
const describeReaders = (readerCount: number) =>
  readerCount === 1 ? 'A reader has been' : `${readerCount} readers have been`

function readersNeverEnd(readerCount: number): WarehouseProblem {
  const sentence = `${describeReaders(readerCount)} in a transaction that began before the rows were written, and would find an empty table. The old data stays, and the run is retried automatically.`
  return busyProblem(sentence)
}
