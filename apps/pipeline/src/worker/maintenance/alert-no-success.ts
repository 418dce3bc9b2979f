import { type Kysely, type Selectable, sql } from 'kysely'
import { readAlertSetting } from '../../organisation-settings.ts'
import type { DB, Runnables } from '../../database.ts'
import type { IdentityLookups } from '../../identity/identity-lookups.ts'
import type { AlertContent } from '../../alerts/alert.ts'
import { checkMailLimit, maxRecipients } from '../../alerts/write-alerts.ts'
import type { RunnableKind } from '../../runs/runnable-kinds.ts'
import { successfulStates, underWay } from '../../runs/run-states.ts'
import { computeNextRun } from '../../schedules/next-run.ts'
import { computeNextRunOrDisable } from '../../schedules/plan-runs.ts'
import { toSchedule } from '../../schedules/schedule.ts'
import type { MaintenanceJob } from './maintenance.ts'

interface NoSuccessOptions {
  db: Kysely<DB>
  identity: Pick<IdentityLookups, 'clients'>
  /** Milliseconds between two checks. Default: five minutes. */
  intervalMs?: number
}

const msPerHour = 3_600_000
const batchSize = 200

interface OverdueRunnable extends Selectable<Runnables> {
  hours: number
  /** The end of the last successful run or the last change of the schedule, whichever is later. */
  since: Date
  last_success: Date | null
  /** The newest run if it was not successful. Ignores dry runs and restores, because they load nothing. */
  last_run: string | null
  last_code: string | null
  last_message: string | null
}

/**
 * Writes one email about each scheduled object that had no successful run for the number of hours in its organisation's
 * setting ALERT_EMAIL. Writes the next one only after a success. Excludes objects for which no run has been due for an
 * hour, objects with an unfinished run of the last hour, and pipelines that have already loaded their uploaded file.
 */
export function alertNoSuccess({ db, identity, intervalMs = 300_000 }: NoSuccessOptions): MaintenanceJob {
  let checkedAt = -Infinity
  return {
    name: 'schedules without success',
    async run(signal) {
      if (performance.now() - checkedAt < intervalMs) return 0
      checkedAt = performance.now()
      const { rows: clock } = await sql<{ now: Date }>`select now()::timestamptz(3) as now`.execute(db)
      const now = clock[0]!.now.getTime()
      let alertsWritten = 0
      for (let lastId = 0; ; ) {
        const candidates = await listOverdue(db, lastId)
        const overdueRunnables = candidates.filter((row) => isRunOverdue(row, now))
        if (overdueRunnables.length > 0) {
          const clients = await identity.clients([...new Set(overdueRunnables.map(({ client }) => client))])
          for (const row of overdueRunnables) {
            signal.throwIfAborted()
            const client = clients.get(row.client)
            if (client && !client.disabled && client.pipelinesEnabled)
              alertsWritten += await writeAlert(db, row, clock[0]!.now)
          }
        }
        if (candidates.length < batchSize) return alertsWritten
        lastId = candidates.at(-1)!.id
      }
    },
  }
}

/** True if the first run that the schedule plans after `since` is at least an hour late. */
const isRunOverdue = (row: OverdueRunnable, now: number): boolean => {
  const { run } = computeNextRunOrDisable(
    () => computeNextRun(toSchedule(row), row.zone ?? 'UTC', row.since.getTime()),
    () => {},
  )
  return run !== undefined && run + msPerHour <= now
}

/** Returns the next scheduled objects without a recent success, in the order of their ids, after `afterId`. */
async function listOverdue(db: Kysely<DB>, afterId: number): Promise<OverdueRunnable[]> {
  const { rows } = await sql<OverdueRunnable>`
    with watched as (
      select client, substring(value from 'NO_SUCCESS_(\\d{1,5})_HOURS')::int as hours from settings
      where key = 'ALERT_EMAIL' and value ~ 'NO_SUCCESS_\\d{1,5}_HOURS')
    select r.*, w.hours, t.since, success.finished_at as last_success,
      unsuccessful.uid as last_run, unsuccessful.error_code as last_code, unsuccessful.message as last_message
    from watched w
    join runnables r on r.client = w.client
    left join data_pipelines p on p.id = r.id
    left join lateral (
      select finished_at from runs where runnable_id = r.id and action = 'RUN' and state = any(${[...successfulStates]}::text[])
      order by id desc limit 1) success on true
    left join lateral (
      select uid, error_code, message, state, created_at from runs where runnable_id = r.id and action = 'RUN'
      order by id desc limit 1) newest on true
    left join lateral (select newest.* where newest.state <> all(${[...successfulStates]}::text[])) unsuccessful on true
    cross join lateral (select greatest(success.finished_at, r.scheduled_since) as since) t
    where r.id > ${afterId} and r.planned and not r.disabled and r.next_run_at is not null
      and t.since < now() - make_interval(hours => w.hours)
      and not coalesce(newest.state = any(${[...underWay]}::text[]) and newest.created_at > now() - interval '1 hour', false)
      and not coalesce(p.type in ('CSV_UPLOAD', 'PARQUET_UPLOAD') and newest.state = any(${[...successfulStates]}::text[]), false)
      and ${isNotReported(sql.ref('r.id'), sql.ref('t.since'))}
    order by r.id limit ${batchSize}`.execute(db)
  return rows
}

const isNotReported = (runnable: unknown, since: unknown) => sql<boolean>`
  not exists (
    select from alerts a where a.runnable_id = ${runnable} and a.event = 'NO_SUCCESS' and a.created_at > ${since})`

/**
 * Writes the alert and returns 1. Returns 0 if another process has written it, if it has no recipients, or if no more
 * emails may be sent now. The lock on the object's row prevents a second email.
 */
async function writeAlert(db: Kysely<DB>, row: OverdueRunnable, now: Date): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql`
      select from runnables where id = ${row.id} and ${isNotReported(row.id, row.since)} for no key update skip locked`.execute(
      trx,
    )
    const recipients = [...new Set((await readAlertSetting(trx, row.client)).addresses.slice(0, maxRecipients))]
    if (rows.length === 0 || recipients.length === 0) return 0
    // The limit of emails is reached. The next round finds the object again.
    const { reached, ...limit } = await checkMailLimit(trx, row.client)
    if (reached) return 0
    const content: AlertContent = {
      event: 'NO_SUCCESS',
      client: row.client,
      kind: row.kind as RunnableKind,
      id: row.uid,
      name: row.name,
      run: row.last_run,
      trigger: 'SCHEDULE',
      errorCode: row.last_code,
      message: row.last_message ?? (row.last_run === null ? '' : 'The last run has not ended yet.'),
      finished: now.toISOString(),
      failures: 0,
      hours: row.hours,
      lastSuccess: row.last_success?.toISOString() ?? null,
      ...limit,
    }
    const { id: runnable_id, client } = row
    const mail = { runnable_id, client, channel: 'MAIL', event: 'NO_SUCCESS', content: JSON.stringify(content) }
    await trx
      .insertInto('alerts')
      .values(recipients.map((recipient) => ({ ...mail, recipient })))
      .execute()
    return 1
  })
}
