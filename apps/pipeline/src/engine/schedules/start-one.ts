import type { Selectable, Transaction } from 'kysely'
import type { DB, Runnables } from '../../database.ts'
import type { RunnableKind } from '../runs/runnable.ts'
import { startRun } from '../runs/start-run.ts'
import { readUploadState } from '../runs/upload-fingerprint.ts'
import { CronProblem } from './cron.ts'
import { nextRun } from './next-run.ts'
import { scheduleOf } from './schedule.ts'
import type { SchedulerParts } from './scheduler.ts'
import { leftOut, nothingNew, standsFor, tellLastRun, tellRun } from './tell-run.ts'
import { type Due, ticksDue } from './ticks-due.ts'
import type { Plan } from './write-plans.ts'

type Row = Selectable<Runnables>

/** Milliseconds until what could not be started is tried again. */
const again = 15_000

/** What became of one row: what comes next, and how many of its ticks went which way. `late`, in seconds, where a run was begun. */
export interface Outcome {
  plan: Plan
  late?: number
  coalesced?: number
  skipped?: number
}

/** Begins the run of a row that is due, which the transaction holds, and says what comes next. */
export async function startOne(
  trx: Transaction<DB>,
  parts: Pick<SchedulerParts, 'queue' | 'logger'>,
  row: Row,
  now: number,
  stands: boolean,
): Promise<Outcome> {
  const { logger } = parts
  const schedule = scheduleOf(row)
  const zone = row.zone ?? 'UTC'
  const due = dueOf(row, now, ({ message }) =>
    logger.warn({ ...subjectOf(row), reason: message }, 'a schedule cannot be kept'),
  )
  if (due === undefined) return { plan: { id: row.id, zone } }
  const plan: Plan = { id: row.id, zone, ...nextRun(schedule, zone, now) }
  if (!stands) {
    logger.debug(subjectOf(row), 'nothing is started for a client that is disabled or gone')
    return { plan, skipped: due.missed + 1 }
  }
  const upload = row.kind === 'DATA_PIPELINE' ? await readUploadState(trx, row.id) : undefined
  if (upload && (upload.isLoaded || upload.fingerprint === undefined)) {
    await tellLastRun(trx, row.id, nothingNew(due, zone))
    return { plan, skipped: due.missed + 1 }
  }
  // An uploaded file is always loaded whole.
  const full =
    upload || !row.continuously_updated || (row.next_full_run_at !== null && row.next_full_run_at.getTime() <= now)
  const { run, existing } = await startRun(
    trx,
    parts.queue,
    { id: row.id, client: row.client, kind: row.kind as RunnableKind },
    { trigger: 'SCHEDULE', mode: full ? 'FULL' : 'INCREMENTAL', scheduledFor: new Date(due.tick), createdBy: null },
  )
  // An update does not do for a replacement: that begins when the update is over.
  if (existing && full && run.mode === 'INCREMENTAL') return held(row, now)
  if (existing) await tellRun(trx, run, leftOut(due, zone))
  else if (due.missed > 0) await tellRun(trx, run, standsFor(due, row, zone))
  if (existing) return { plan, coalesced: due.missed + 1 }
  return { plan, coalesced: due.missed, late: Math.max(0, now - due.tick) / 1000 }
}

function dueOf(row: Row, now: number, refused: (problem: CronProblem) => void): Due | undefined {
  try {
    return ticksDue(scheduleOf(row), row.zone ?? 'UTC', row.next_run_at!.getTime(), now)
  } catch (error) {
    if (!(error instanceof CronProblem)) throw error
    refused(error)
    return undefined
  }
}

export const subjectOf = ({ kind, uid, client }: Row) => ({ kind, subject: uid, client })

/** It is left as it is, due, for some seconds. */
export const held = (row: Row, now: number): Outcome => ({
  plan: {
    id: row.id,
    zone: row.zone ?? 'UTC',
    run: row.next_run_at!.getTime(),
    ...(row.next_full_run_at && { full: row.next_full_run_at.getTime() }),
    notBefore: now + again,
  },
})
