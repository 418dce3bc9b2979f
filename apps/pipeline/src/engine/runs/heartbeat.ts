import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { LostRun } from '../lost-run.ts'
import type { Claim } from './claim.ts'

/** Totals since the attempt began to read, or began to read anew. Null is what nobody knows. */
export interface Totals {
  bytesRead: number
  bytesTotal: number | null
  rowsRead: number
  rowsRejected: number
  /** 0 to 100. It never goes down. */
  percentage: number | null
  /** Of the last seconds. */
  rowsPerSecond: number
  bytesPerSecond: number
  /** Until all is read. */
  secondsLeft: number | null
}

/** The pulse of one attempt. Disposing it ends it. */
export interface Pulse extends Disposable {
  /** Writes where the load is. False when the run was cancelled, taken over or deleted; then `lost` was called too. */
  beat(): Promise<boolean>
}

interface PulseOptions {
  /** Undefined while nothing is read yet: what an earlier attempt counted then stays. */
  totals(): Totals | undefined
  lost(reason: LostRun): void
  /** Milliseconds between two beats. */
  every?: number
}

/**
 * Says every second that the attempt lives and how far it is, and asks by the same statement whether the run is still
 * its own. A beat that the database does not take is skipped: the load goes on until it needs an answer.
 */
export function startPulse(db: Kysely<DB>, claim: Claim, { totals, lost, every = 1_000 }: PulseOptions): Pulse {
  let timer: NodeJS.Timeout | undefined
  let ended = false

  async function beat(): Promise<boolean> {
    if (await writeBeat(db, claim, totals())) return true
    const reason = await whyLost(db, claim)
    ended = true
    lost(reason)
    return false
  }

  function schedule(): void {
    const again = () => {
      if (!ended) schedule()
    }
    timer = setTimeout(() => void beat().then(again, again), every)
  }
  schedule()

  return {
    beat,
    [Symbol.dispose]() {
      ended = true
      clearTimeout(timer)
    },
  }
}

async function writeBeat(db: Kysely<DB>, { id, attempt }: Claim, totals: Totals | undefined): Promise<boolean> {
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

async function whyLost(db: Kysely<DB>, { id, attempt }: Claim): Promise<LostRun> {
  const run = await db.selectFrom('runs').select(['state', 'attempt']).where('id', '=', id).executeTakeFirst()
  if (!run) return new LostRun('What it ran was deleted.')
  if (run.state === 'CANCELLED') return new LostRun('The run was cancelled.')
  return new LostRun(`Attempt ${attempt} was taken for dead; the run went on without it.`)
}
