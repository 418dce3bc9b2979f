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
import { databaseClock } from '../../schedules/scheduler-context.ts'
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
      const now = await databaseClock(db)
      let alertsWritten = 0
      for (let lastId = 0; ; ) {
        const page = await listWithoutSuccess(db, lastId)
        const overdueRunnables = page.filter((row) => isRunOverdue(row, now))
        for (const runnable of await filterByActiveClient(identity, overdueRunnables)) {
          signal.throwIfAborted()
          alertsWritten += await writeAlert(db, runnable, now)
        }
        if (page.length < batchSize) return alertsWritten
        lastId = page.at(-1)!.id
      }
    },
  }
}

/** Returns the objects of organisations that exist, are not disabled and may run pipelines. */
async function filterByActiveClient(
  identity: NoSuccessOptions['identity'],
  runnables: readonly OverdueRunnable[],
): Promise<OverdueRunnable[]> {
  if (runnables.length === 0) return []
  const clients = await identity.clients([...new Set(runnables.map(({ client }) => client))])
  return runnables.filter((runnable) => {
    const client = clients.get(runnable.client)
    return client !== undefined && !client.disabled && client.pipelinesEnabled
  })
}

/** True if the first run that the schedule plans after `since` is at least an hour late. */
const isRunOverdue = (row: OverdueRunnable, now: Date): boolean => {
  const { run } = computeNextRunOrDisable(
    () => computeNextRun(toSchedule(row), row.zone ?? 'UTC', row.since.getTime()),
    () => {},
  )
  return run !== undefined && run + msPerHour <= now.getTime()
}

/**
 * Returns the next scheduled objects after `afterId`, by id, that had no success for the number of hours in the setting
 * ALERT_EMAIL, and about which no email was written since. Excludes objects with an unfinished run of the last hour,
 * and pipelines that have already loaded their uploaded file.
 */
async function listWithoutSuccess(db: Kysely<DB>, afterId: number): Promise<OverdueRunnable[]> {
  const successful = sql`any(${[...successfulStates]}::text[])`
  const unfinished = sql`any(${[...underWay]}::text[])`
  const { rows } = await sql<OverdueRunnable>`
    with no_success_setting as (
      select client, substring(value from 'NO_SUCCESS_(\\d{1,5})_HOURS')::int as hours from settings
      where key = 'ALERT_EMAIL' and value ~ 'NO_SUCCESS_\\d{1,5}_HOURS')
    select runnable.*, no_success_setting.hours, waiting.since, last_success.finished_at as last_success,
      failure.uid as last_run, failure.error_code as last_code, failure.message as last_message
    from no_success_setting
    join runnables runnable on runnable.client = no_success_setting.client
    left join data_pipelines pipeline on pipeline.id = runnable.id
    left join lateral (
      select finished_at from runs where runnable_id = runnable.id and action = 'RUN' and state = ${successful}
      order by id desc limit 1) last_success on true
    left join lateral (
      select uid, error_code, message, created_at, state = ${successful} as succeeded, state = ${unfinished} as unfinished
      from runs where runnable_id = runnable.id and action = 'RUN'
      order by id desc limit 1) newest_run on true
    left join lateral (select newest_run.* where not newest_run.succeeded) failure on true
    cross join lateral (select greatest(last_success.finished_at, runnable.scheduled_since) as since) waiting
    where runnable.id > ${afterId} and runnable.planned and not runnable.disabled and runnable.next_run_at is not null
      and waiting.since < now() - make_interval(hours => no_success_setting.hours)
      and ${isNotReported(sql.ref('runnable.id'), sql.ref('waiting.since'))}
      -- An object without a run has no row of newest_run, and a view no row of pipeline.
      and not coalesce(newest_run.unfinished and newest_run.created_at > now() - interval '1 hour', false)
      and not coalesce(pipeline.type in ('CSV_UPLOAD', 'PARQUET_UPLOAD') and newest_run.succeeded, false)
    order by runnable.id limit ${batchSize}`.execute(db)
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
    const { rows: lockedRows } = await sql`
      select from runnables where id = ${row.id} and ${isNotReported(row.id, row.since)} for no key update skip locked`.execute(
      trx,
    )
    if (lockedRows.length === 0) return 0
    const { addresses } = await readAlertSetting(trx, row.client)
    const recipients = [...new Set(addresses.slice(0, maxRecipients))]
    if (recipients.length === 0) return 0
    const { mayWrite, limitNotice } = await checkMailLimit(trx, row.client)
    // The next check finds the object again.
    if (!mayWrite) return 0
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
      ...limitNotice,
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
