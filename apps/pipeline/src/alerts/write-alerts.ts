import { type Kysely, type RawBuilder, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import { noMailServer, parseAlertSetting, readAlertSetting, settingDefaults } from '../organisation-settings.ts'
import type { EndedRun } from '../runs/run-states.ts'
import type { RunnableKind } from '../runs/runnable-kinds.ts'
import { type AlertContent, type AlertEvent, type Channel, operatorRecipient } from './alert.ts'

/** The maximum number of recipients of one alert. Settings saved before this limit existed can have more addresses. */
export const maxRecipients = 50

const hourMs = 3_600_000

/**
 * Writes the alerts about an ended run in the transaction that ends it: emails to the addresses of the organisation,
 * and for a failure also a call of the operator's webhook. A job of a workflow gets no alert of its own, because the
 * workflow reports it. Dry runs and restores get none, because their caller reads the result.
 */
export async function writeRunAlerts(
  trx: Transaction<DB>,
  run: EndedRun,
  { alertSetting, hasWaitingAlerts }: { alertSetting: string | null; hasWaitingAlerts: boolean },
): Promise<void> {
  if (run.action !== 'RUN' || run.state === 'CANCELLED') return
  const { addresses, warnings } = parseAlertSetting(alertSetting ?? settingDefaults.ALERT_EMAIL)
  const badEvent = toBadEvent(run, warnings)
  if (badEvent && run.workflow_run_id !== null) return
  if (hasWaitingAlerts) await deleteWaitingAlerts(trx, run.runnable_id)
  const call = await draftCall(trx, run)
  const mail = await draftMail(trx, run, badEvent, addresses)
  const drafts = [call, mail].filter((draft) => draft !== undefined)
  if (drafts.length === 0) return
  const subject = await trx
    .selectFrom('runnables')
    .select(['uid', 'kind', 'name'])
    .where('id', '=', run.runnable_id)
    .executeTakeFirst()
  if (!subject) return
  const content = {
    client: run.client,
    kind: subject.kind as RunnableKind,
    id: subject.uid,
    name: subject.name,
    run: run.uid,
    trigger: run.trigger,
    errorCode: run.error_code,
    message: run.message ?? '',
    finished: (run.finished_at ?? new Date()).toISOString(),
  }
  const rows = drafts.flatMap(({ channel, recipients, waitsUntil, ...eventDetails }) =>
    recipients.map((recipient) => ({
      run_id: run.id,
      runnable_id: run.runnable_id,
      client: run.client,
      channel,
      recipient,
      event: eventDetails.event,
      content: JSON.stringify({ ...content, ...eventDetails } satisfies AlertContent),
      ...(waitsUntil && { created_at: waitsUntil, try_after: waitsUntil }),
    })),
  )
  await trx
    .insertInto('alerts')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['run_id', 'channel', 'recipient']).doNothing())
    .execute()
}

interface AlertDraft extends Pick<AlertContent, 'failures' | 'leftOutUntil'> {
  channel: Channel
  recipients: readonly string[]
  event: AlertEvent
  /** The earliest time to send the alert; undefined sends it immediately. */
  waitsUntil: Date | undefined
}

/**
 * Drafts the webhook call about a failed run; undefined for other runs. If the last call about the object was less than
 * an hour ago, the new one waits until that hour has passed.
 */
async function draftCall(trx: Transaction<DB>, run: EndedRun): Promise<AlertDraft | undefined> {
  if (run.state !== 'FAILED') return undefined
  const pastAlerts = await readPastAlerts(trx, run, 'WEBHOOK')
  return {
    channel: 'WEBHOOK',
    recipients: [operatorRecipient],
    event: 'FAILED',
    failures: pastAlerts.sameOutcomeCount,
    waitsUntil: findWaitEnd(pastAlerts, 'FAILED'),
  }
}

/**
 * Drafts the email about a run. Returns undefined without a recipient or an event to report, or if no email is left
 * within the organisation's limit. If an email about the same event was written less than an hour ago, the new one
 * waits until that hour has passed.
 */
async function draftMail(
  trx: Transaction<DB>,
  run: EndedRun,
  badEvent: BadEvent | undefined,
  addresses: readonly string[],
): Promise<AlertDraft | undefined> {
  const recipients = [...new Set(addresses.slice(0, maxRecipients))]
  if (recipients.length === 0) return undefined
  const pastAlerts = await readPastAlerts(trx, run, 'MAIL')
  const event = chooseMailEvent(run, badEvent, pastAlerts)
  if (!event) return undefined
  const waitsUntil = findWaitEnd(pastAlerts, event)
  const draft = { channel: 'MAIL', recipients, event, failures: pastAlerts.sameOutcomeCount, waitsUntil } as const
  // The limit applies only to the first email about a problem.
  const isExemptFromLimit = event === 'RECOVERED' || waitsUntil !== undefined
  if (isExemptFromLimit) return draft
  const { mayWrite, limitNotice } = await checkMailLimit(trx, run.client)
  return mayWrite ? { ...draft, ...limitNotice } : undefined
}

type BadEvent = 'FAILED' | 'WARNING'

const toBadEvent = ({ state }: EndedRun, warnings: boolean): BadEvent | undefined =>
  state === 'FAILED' || (state === 'WARNING' && warnings) ? state : undefined

// The condition `tries = 0` excludes alerts that another process sends while this transaction runs, because an alert
// that was sent must stay.
const isWaiting = (runnable: number) => sql`runnable_id = ${runnable} and created_at > now() and tries = 0`

/** SQL of whether alerts about an object wait for the end of their hour. */
export const hasWaitingAlerts = (runnable: number): RawBuilder<boolean> =>
  sql`exists (select from alerts where ${isWaiting(runnable)})`

/** Deletes alerts that wait for the end of their hour, because a newer run makes them obsolete. */
async function deleteWaitingAlerts(trx: Transaction<DB>, runnable: number): Promise<void> {
  await sql`delete from alerts where ${isWaiting(runnable)}`.execute(trx)
}

interface PastAlerts {
  /** The event of the most recent alert. */
  lastEvent: AlertEvent | null
  /** The creation time (ISO 8601) of the most recent alert of each event within the last hour, except RECOVERED. */
  lastHourTimes: Readonly<Partial<Record<AlertEvent, string>>>
  /** The number of consecutive runs with the same outcome since the most recent alert, including this run. */
  sameOutcomeCount: number
}

/**
 * Returns the event to report by email, if any, so that the last email about an object always describes its current
 * state. RECOVERED is reported only after an email about a failure, a warning or missing success.
 */
function chooseMailEvent(
  { state }: EndedRun,
  badEvent: BadEvent | undefined,
  { lastEvent, lastHourTimes }: PastAlerts,
): AlertEvent | undefined {
  if (badEvent) {
    const wasJustReported = lastEvent === badEvent && lastHourTimes[badEvent] !== undefined
    return wasJustReported ? undefined : badEvent
  }
  const wasProblemReported = lastEvent !== null && lastEvent !== 'RECOVERED'
  if (!wasProblemReported) return undefined
  // Here, a run with a warning counts as a success, because the organisation wants no emails about warnings. An earlier
  // email about a warning is still correct, however.
  const isLastMailCorrect = state === 'WARNING' && lastEvent === 'WARNING'
  return isLastMailCorrect ? undefined : 'RECOVERED'
}

/** Returns the end of the hour in which no second alert about an event is sent; undefined if it has passed. */
function findWaitEnd({ lastHourTimes }: PastAlerts, event: AlertEvent): Date | undefined {
  const lastTime = lastHourTimes[event]
  return lastTime === undefined ? undefined : new Date(Date.parse(lastTime) + hourMs)
}

/** Reads the alerts about the run's object on one channel, and counts the runs with the same outcome since the last. */
async function readPastAlerts(
  trx: Transaction<DB>,
  { id, runnable_id, state }: EndedRun,
  channel: Channel,
): Promise<PastAlerts> {
  const { rows } = await sql<PastAlerts>`
    with past_alert as (
        select event, run_id, created_at, id from alerts where runnable_id = ${runnable_id} and channel = ${channel}),
      last_hour as (
        select event, max(created_at) as last_time from past_alert
        where created_at > now() - interval '1 hour' and event <> 'RECOVERED' group by event),
      last_reported as (select max(run_id) as run_id from past_alert),
      same_outcome as (
        select run.id from runs run, last_reported
        where run.runnable_id = ${runnable_id} and run.state = ${state} and run.action = 'RUN'
          and run.id > last_reported.run_id and run.id <= ${id})
    select (select event from past_alert order by created_at desc, id desc limit 1) as "lastEvent",
      (select coalesce(jsonb_object_agg(event, last_time), '{}') from last_hour) as "lastHourTimes",
      case when last_reported.run_id is null then 1
        else (select count(*) from same_outcome)::int end as "sameOutcomeCount"
    from last_reported`.execute(trx)
  return rows[0]!
}

/**
 * The maximum number of failure and warning emails per organisation and hour. An email to several addresses counts
 * once.
 */
export const maxMailsPerHour = 20

/**
 * Returns whether one more failure or warning email may be written to the organisation now. `limitNotice` is part of
 * the content of that email: if it is the last one within the limit, it says until when further emails are omitted.
 * Takes no lock, so runs that end concurrently can exceed the limit by a few emails.
 */
export async function checkMailLimit(
  trx: Transaction<DB>,
  client: string,
): Promise<{ mayWrite: boolean; limitNotice: Pick<AlertContent, 'leftOutUntil'> }> {
  // An email to several addresses has one row for each of them, with the same object and time.
  const { rows } = await sql<{ mailCount: number; hasLimitNotice: boolean; inOneHour: Date }>`
    select count(distinct (runnable_id, created_at))::int as "mailCount",
      coalesce(bool_or(content ->> 'leftOutUntil' is not null), false) as "hasLimitNotice",
      now() + interval '1 hour' as "inOneHour"
    from alerts
    where client = ${client} and channel = 'MAIL' and event <> 'RECOVERED'
      and created_at > now() - interval '1 hour' and created_at <= now()`.execute(trx)
  const { mailCount, hasLimitNotice, inOneHour } = rows[0]!
  if (hasLimitNotice) return { mayWrite: false, limitNotice: {} }
  const isLastWithinLimit = mailCount + 1 >= maxMailsPerHour
  return { mayWrite: true, limitNotice: isLastWithinLimit ? { leftOutUntil: inOneHour.toISOString() } : {} }
}

/**
 * Returns a log line that explains why no email about a failed run is sent: the organisation has addresses, but the
 * service has no mail server. Returns undefined if no email is due.
 */
export async function explainMissingMail(
  db: Kysely<DB>,
  { id, client }: { id: number; client: string },
): Promise<string | undefined> {
  // A workflow reports the runs of its jobs, and the results of dry runs and restores are read by their callers.
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('id', '=', id)
    .where('workflow_run_id', 'is', null)
    .where('action', '=', 'RUN')
    .executeTakeFirst()
  if (!run) return undefined
  const { addresses } = await readAlertSetting(db, client)
  if (addresses.length === 0) return undefined
  return `ALERT_EMAIL names ${addresses.length === 1 ? 'an address' : `${addresses.length} addresses`}. ${noMailServer}`
}
