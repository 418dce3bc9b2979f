import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { toStoredJson } from '../stored-json.ts'
import { LeaseLost } from '@sluice/warehouses/warehouse'
import type { Claim } from './claim-run.ts'

/** The progress since the attempt last started to read the source. Null means unknown. */
export interface Totals {
  bytesRead: number
  bytesTotal: number | null
  rowsRead: number
  rowsRejected: number
  /** The percentage from 0 to 100. It never decreases. */
  percentage: number | null
  /** The average rate of the last ten seconds. */
  rowsPerSecond: number
  bytesPerSecond: number
  /** The estimated number of seconds until everything is read. */
  secondsLeft: number | null
  /** The tables that the attempt has started to read, if there are several. */
  tables?: readonly TableProgress[] | undefined
}

/** The progress of one of several tables. Stored as JSON. */
export interface TableProgress {
  table: string
  rowsRead: number
  state: 'READING' | 'READ'
}

/** The heartbeat of one attempt, which renews its lease. Dispose of it to stop. */
export interface Heartbeat extends Disposable {
  /** Writes the progress and renews the lease. If the lease is lost, calls `onLeaseLost` and returns false. */
  beat(): Promise<boolean>
}

interface HeartbeatOptions {
  /**
   * Returns the progress of this attempt. Returns undefined before it has read anything, so that the progress of an
   * earlier attempt stays visible.
   */
  totals(): Totals | undefined
  onLeaseLost(reason: LeaseLost): void
  /** Milliseconds between two heartbeats. Default: 1,000. */
  intervalMs?: number
}

/**
 * Writes a heartbeat with the progress every `intervalMs`, and each time `beat` is called. If the lease is lost, calls
 * `onLeaseLost` with the reason and stops. Ignores errors of the database, because the load can continue without it.
 */
export function startHeartbeat(
  db: Kysely<DB>,
  claim: Claim,
  { totals, onLeaseLost, intervalMs = 1_000 }: HeartbeatOptions,
): Heartbeat {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let lastWrite: Promise<unknown> = Promise.resolve()

  async function beat(): Promise<boolean> {
    // One write follows another, so that the progress of an earlier heartbeat never overwrites that of a later one.
    const write = lastWrite.then(() => writeHeartbeat(db, claim, totals()))
    lastWrite = write.catch(() => {})
    const hasLease = await write
    if (hasLease) return true
    const reason = await explainLeaseLoss(db, claim)
    isStopped = true
    onLeaseLost(reason)
    return false
  }

  function scheduleNext(): void {
    if (isStopped) return
    timer = setTimeout(() => void beat().then(scheduleNext, scheduleNext), intervalMs)
  }
  scheduleNext()

  return {
    beat,
    [Symbol.dispose]() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Stores the heartbeat and the progress. Returns whether the attempt still has the lease. */
async function writeHeartbeat(db: Kysely<DB>, { id, attempt }: Claim, totals: Totals | undefined): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({
      heartbeat_at: sql`now()`,
      ...(totals && {
        bytes_read: totals.bytesRead,
        bytes_total: totals.bytesTotal,
        rows_read: totals.rowsRead,
        rows_rejected: totals.rowsRejected,
        percentage: totals.percentage,
        // An earlier attempt may have stored tables.
        progress_tables: totals.tables ? toStoredJson(totals.tables) : null,
        rows_per_second: totals.rowsPerSecond,
        bytes_per_second: totals.bytesPerSecond,
        estimated_end:
          totals.secondsLeft === null ? null : sql<Date>`now() + make_interval(secs => ${totals.secondsLeft})`,
      }),
    })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', '=', 'RUNNING')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function explainLeaseLoss(db: Kysely<DB>, { id, attempt }: Claim): Promise<LeaseLost> {
  const run = await db.selectFrom('runs').select(['state', 'attempt']).where('id', '=', id).executeTakeFirst()
  if (!run) return new LeaseLost('The object of the run was deleted.')
  if (run.state === 'CANCELLED') return new LeaseLost('The run was cancelled.')
  return new LeaseLost(`Attempt ${attempt} lost its lease; another attempt continues the run.`)
}
