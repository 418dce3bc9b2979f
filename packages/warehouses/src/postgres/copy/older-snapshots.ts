import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool } from 'pg'
import { type WarehouseProblem, busyProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'
import { copyApplicationName } from './copy-connection.ts'

/** Transactions that may have too old snapshots to see rows that were committed at a certain time. */
export interface OlderSnapshots {
  /** The virtual transaction ids. */
  transactions: string[]
  /** A transaction id. Snapshots that have no older transaction in progress see the rows. */
  horizon: string
}

/** Milliseconds between the first two polls. Later intervals are longer, up to `maxPollIntervalMs`. */
const pollIntervalMs = 50
const maxPollIntervalMs = 2_000
/** Milliseconds after which the caller is notified that the load waits. */
const notifyAfterMs = 6_000

/**
 * The FROM clause for the transactions of other sessions that have a snapshot. Excludes connections that copy, and
 * sessions without a user: these are server processes such as autovacuum, which never read with an old snapshot.
 */
const fromReaderSessions = `from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'virtualxid' and a.datid = (select oid from pg_database where datname = current_database())
    and a.usesysid is not null and a.pid <> pg_backend_pid() and a.backend_xmin is not null
    and not (a.usename = current_user and a.application_name = '${copyApplicationName}')`

/**
 * Lists the transactions that may not see the rows which have just been committed. Rows that are not frozen are
 * invisible to older snapshots, so readers with such a snapshot would find an empty table after the swap. Call it
 * directly after the commit, so that later transactions are not listed. Role `load` may read these columns of all
 * sessions.
 */
export async function listOlderSnapshots(client: ClientBase): Promise<OlderSnapshots> {
  const { rows } = await client.query(
    `select pg_snapshot_xmax(pg_current_snapshot())::text as horizon,
       array(select l.virtualtransaction ${fromReaderSessions}) as transactions`,
  )
  return rows[0]
}

/**
 * Waits until all of these transactions have ended or use a newer snapshot. The previously published rows stay visible
 * until then. Calls `onWait` once if the wait is long. Throws a retryable problem after `waitMs`. The retry reads the
 * source again and freezes its rows, so it waits only if a transformation changes them.
 */
export async function waitForOlderSnapshots(
  pool: Pool,
  olderSnapshots: readonly OlderSnapshots[],
  { waitMs, onWait }: { waitMs: number; onWait?: ((reason: string) => void) | undefined },
  signal: AbortSignal,
): Promise<void> {
  const transactions = olderSnapshots.flatMap((snapshots) => snapshots.transactions)
  // Snapshots from the highest horizon on see the rows of all loads.
  const [highestHorizon] = olderSnapshots
    .map(({ horizon }) => horizon)
    .toSorted((one, other) => Number(BigInt(other) - BigInt(one)))
  const startedAt = performance.now()
  let isNotified = false
  while (transactions.length > 0) {
    const waitingReaders = await withClient(pool, signal, async (client) => {
      const { rows } = await client.query<{ waitingReaders: number }>(
        `select count(*)::int as "waitingReaders" ${fromReaderSessions} and l.virtualtransaction = any($1) and age(a.backend_xmin) > age($2::xid8::xid)`,
        [transactions, highestHorizon],
      )
      return rows[0]!.waitingReaders
    })
    if (waitingReaders === 0) return
    const waitedMs = performance.now() - startedAt
    if (waitedMs > waitMs) throw readersNeverEnd(waitingReaders)
    if (!isNotified && waitedMs > notifyAfterMs) {
      isNotified = true
      onWait?.(
        `${describeReaders(waitingReaders)} in a transaction that began before the rows were written. The rows are published when it has ended.`,
      )
    }
    await sleep(Math.min(maxPollIntervalMs, pollIntervalMs + waitedMs / 10), undefined, { signal }).catch(() => {})
    signal.throwIfAborted()
  }
}

const describeReaders = (waitingReaders: number) =>
  waitingReaders === 1 ? 'A reader has been' : `${waitingReaders} readers have been`

function readersNeverEnd(waitingReaders: number): WarehouseProblem {
  const sentence = `${describeReaders(waitingReaders)} in a transaction that began before the rows were written, and would find an empty table. The old data stays, and the run is retried automatically.`
  return busyProblem(sentence)
}
