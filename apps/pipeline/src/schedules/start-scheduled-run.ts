import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runnables, Runs } from '../database.ts'
import type { RunnableKind } from '../runs/runnable-kinds.ts'
import { startRun } from '../run-lifecycle/start-run.ts'
import { readUploadState } from '../runs/queue-run.ts'
import { CronProblem } from './parse-cron.ts'
import { type DueTicks, computeNextRun, countDueTicks } from './next-run.ts'
import { toSchedule } from './schedule.ts'
import type { SchedulerOptions } from './scheduler-context.ts'
import type { Plan } from './plan-runs.ts'

type ScheduledRow = Selectable<Runnables>

/** Milliseconds after which a failed start is retried. */
const retryDelay = 15_000

/**
 * The result for one schedule: its next runs, and how many ticks were merged into another run (`coalesced`) or skipped.
 * `lateSeconds` is set if a run was started.
 */
export interface StartOutcome {
  plan: Plan
  lateSeconds?: number
  coalesced?: number
  skipped?: number
}

/**
 * Starts the run of a due schedule, and counts the ticks that it covers. Skips the ticks if the stored expression is
 * invalid, the organisation may not run pipelines (`isActive` is false), or the uploaded file is already loaded or
 * missing. If a run is already queued or running, that run covers the ticks; a full load is postponed until an
 * incremental run has ended. The transaction must have locked the row.
 */
export async function startScheduledRun(
  trx: Transaction<DB>,
  { queue, logger }: Pick<SchedulerOptions, 'queue' | 'logger'>,
  row: ScheduledRow,
  now: number,
  isActive: boolean,
): Promise<StartOutcome> {
  const zone = row.zone ?? 'UTC'
  const dueTicks = findDueTicks(row, now, ({ message }) =>
    logger.warn({ ...scheduleLogFields(row), reason: message }, 'a schedule is invalid'),
  )
  // A plan without a next run: the schedule starts no runs until its expression is corrected.
  if (dueTicks === undefined) return { plan: { id: row.id, zone } }
  const plan: Plan = { id: row.id, zone, ...computeNextRun(toSchedule(row), zone, now) }
  const tickCount = dueTicks.missed + 1
  if (!isActive) {
    logger.debug(scheduleLogFields(row), 'no run is started for a disabled or deleted client')
    return { plan, skipped: tickCount }
  }
  /** Undefined for objects that load no uploaded file. */
  const upload = row.kind === 'DATA_PIPELINE' ? await readUploadState(trx, row.id) : undefined
  const hasNothingToLoad = upload !== undefined && (upload.isLoaded || upload.fingerprint === undefined)
  if (hasNothingToLoad) {
    await logToLastRun(trx, row.id, describeUnchangedUpload(dueTicks, zone))
    return { plan, skipped: tickCount }
  }
  const isFullDue = row.next_full_run_at !== null && row.next_full_run_at.getTime() <= now
  const isFull = upload !== undefined || !row.continuously_updated || isFullDue
  const { run, existing } = await startRun(
    trx,
    queue,
    { id: row.id, client: row.client, kind: row.kind as RunnableKind },
    {
      trigger: 'SCHEDULE',
      mode: isFull ? 'FULL' : 'INCREMENTAL',
      scheduledFor: new Date(dueTicks.tick),
      createdBy: null,
    },
  )
  if (existing) {
    const mustWaitForIncrementalRun = isFull && run.mode === 'INCREMENTAL'
    if (mustWaitForIncrementalRun) return postponeStart(row, now)
    await logToRun(trx, run, describeSkippedTicks(dueTicks, zone))
    return { plan, coalesced: tickCount }
  }
  if (dueTicks.missed > 0) await logToRun(trx, run, describeCoveredTicks(dueTicks, row, zone))
  return { plan, coalesced: dueTicks.missed, lateSeconds: Math.max(0, now - dueTicks.tick) / 1000 }
}

function findDueTicks(row: ScheduledRow, now: number, onInvalid: (problem: CronProblem) => void): DueTicks | undefined {
  try {
    return countDueTicks(toSchedule(row), row.zone ?? 'UTC', row.next_run_at!.getTime(), now)
  } catch (error) {
    if (!(error instanceof CronProblem)) throw error
    onInvalid(error)
    return undefined
  }
}

export const scheduleLogFields = ({ kind, uid, client }: ScheduledRow) => ({ kind, subject: uid, client })

/** Returns a result that leaves the schedule due, so that it is retried after `retryDelay`. */
export const postponeStart = (row: ScheduledRow, now: number): StartOutcome => ({
  plan: {
    id: row.id,
    zone: row.zone ?? 'UTC',
    run: row.next_run_at!.getTime(),
    ...(row.next_full_run_at && { full: row.next_full_run_at.getTime() }),
    notBefore: now + retryDelay,
  },
})

/** The maximum number of lines in the log of a run. */
const maxLines = 10_000

async function logToRun(trx: Transaction<DB>, run: Selectable<Runs>, message: string): Promise<void> {
  await sql`
    insert into run_logs (run_id, runnable_id, level, importance, message)
    select ${run.id}, ${run.runnable_id}, 'WARN', 'MEDIUM', ${message}
    where (select count(*) from run_logs where run_id = ${run.id}) < ${maxLines}
  `.execute(trx)
}

/** Writes a skipped tick to the log of the object's last run, if there is one. */
async function logToLastRun(trx: Transaction<DB>, runnable: number, message: string): Promise<void> {
  await sql`
    insert into run_logs (run_id, runnable_id, level, importance, message)
    select r.id, r.runnable_id, 'INFO', 'LOW', ${message}
    from (select id, runnable_id from runs where runnable_id = ${runnable} order by id desc limit 1) r
    where (select count(*) from run_logs where run_id = r.id) < ${maxLines}
  `.execute(trx)
}

const describeUnchangedUpload = ({ tick }: DueTicks, zone: string): string =>
  `The run that was due at ${formatWallTime(tick, zone)} was skipped, because the file, its options and the variables have not changed since the last load.`

/** Returns a log line for a run that is still running when the next one is due. */
function describeSkippedTicks({ tick, missed, more }: DueTicks, zone: string): string {
  const others = missed > 0 ? ` and ${formatMissed(missed, more)} before it were` : ' was'
  return `The run that was due at ${formatWallTime(tick, zone)}${others} skipped, because this run had not ended yet.`
}

/** Returns a log line for a run that also stands for earlier ticks. */
function describeCoveredTicks({ tick, missed, more }: DueTicks, row: ScheduledRow, zone: string): string {
  const reason =
    row.not_before === null ? 'no worker was running at that time' : 'these runs could not be started in time'
  const earlierRuns = `${formatMissed(missed, more)} earlier ${missed === 1 ? 'run, due at' : 'runs, the first due at'}`
  const firstTime = formatWallTime(row.next_run_at!.getTime(), zone)
  return `This run was due at ${formatWallTime(tick, zone)}. It also covers ${earlierRuns} ${firstTime}, because ${reason}.`
}

const formatMissed = (missed: number, more: boolean) => `${more ? 'over ' : ''}${missed.toLocaleString('en')}`

/** Formats an instant in a time zone, such as `2026-03-29 03:30 (Europe/Oslo)`. */
function formatWallTime(moment: number, zone: string): string {
  const style = { dateStyle: 'short', timeStyle: 'short', timeZone: zone } as const
  // Swedish formats dates as year-month-day.
  return `${new Date(moment).toLocaleString('sv', style)} (${zone})`
}
