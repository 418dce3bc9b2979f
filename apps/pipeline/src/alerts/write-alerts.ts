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
 * Drafts the webhook call about a failed run. If the last call was less than an hour ago, the new one waits until that
 * hour has passed, and a later successful run cancels it.
 */
async function draftCall(trx: Transaction<DB>, run: EndedRun): Promise<AlertDraft | undefined> {
  if (run.state !== 'FAILED') return undefined
  const { sameOutcomeCount, timesWithinHour } = await readPastAlerts(trx, run, 'WEBHOOK')
  const waitsUntil = addHour(timesWithinHour.FAILED)
  return {
    channel: 'WEBHOOK',
    recipients: [operatorRecipient],
    event: 'FAILED',
    failures: sameOutcomeCount,
    waitsUntil,
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
  const draft = { channel: 'MAIL', recipients, event, failures: pastAlerts.sameOutcomeCount } as const
  const waitsUntil = addHour(pastAlerts.timesWithinHour[event])
  // Only the first email about a problem counts towards the limit, so emails that wait and recovery emails need no
  // check.
  if (event === 'RECOVERED' || waitsUntil) return { ...draft, waitsUntil }
  const { reached, ...limitNotice } = await checkMailLimit(trx, run.client)
  return reached ? undefined : { ...draft, ...limitNotice, waitsUntil }
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
  /** The creation times (ISO 8601) of the most recent alert of each event within the last hour, except RECOVERED. */
  timesWithinHour: Readonly<Partial<Record<AlertEvent, string>>>
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
  { lastEvent, timesWithinHour }: PastAlerts,
): AlertEvent | undefined {
  if (badEvent) {
    const wasJustReported = lastEvent === badEvent && timesWithinHour[badEvent] !== undefined
    return wasJustReported ? undefined : badEvent
  }
  // A run with a warning gets here only if warnings are not reported, and counts as a success. The exception is if the
  // last email was about a warning, because that email is still correct.
  const isSuccess = state === 'OK' || lastEvent !== 'WARNING'
  const wasReportedBad = lastEvent !== null && lastEvent !== 'RECOVERED'
  return isSuccess && wasReportedBad ? 'RECOVERED' : undefined
}

const addHour = (moment: string | undefined): Date | undefined =>
  moment === undefined ? undefined : new Date(Date.parse(moment) + hourMs)

async function readPastAlerts(
  trx: Transaction<DB>,
  { id, runnable_id, state }: EndedRun,
  channel: Channel,
): Promise<PastAlerts> {
  const { rows } = await sql<PastAlerts>`
    with past as (
      select event, run_id, created_at, id from alerts where runnable_id = ${runnable_id} and channel = ${channel})
    select (select event from past order by created_at desc, id desc limit 1) as "lastEvent",
      (select coalesce(jsonb_object_agg(event, at), '{}') from (
        select event, max(created_at) as at from past
        where created_at > now() - interval '1 hour' and event <> 'RECOVERED' group by event) m) as "timesWithinHour",
      (select count(*) from runs
       where runnable_id = ${runnable_id} and id <= ${id} and state = ${state} and action = 'RUN'
         and id > coalesce((select max(run_id) from past), ${id} - 1))::int as "sameOutcomeCount"`.execute(trx)
  return rows[0]!
}

/**
 * The maximum number of failure and warning emails per organisation and hour. An email to several addresses counts
 * once.
 */
export const maxMailsPerHour = 20

/**
 * Checks whether the organisation may get one more failure or warning email. If `reached` is true, it must not be
 * written. If `leftOutUntil` is set (ISO 8601), it is the last one within the limit, and must say until when further
 * emails are omitted. Takes no lock, so runs that end concurrently can exceed the limit by a few emails.
 */
export async function checkMailLimit(
  trx: Transaction<DB>,
  client: string,
): Promise<{ reached: boolean; leftOutUntil?: string }> {
  const { rows } = await sql<{ mails: number; announced: boolean; ends: Date }>`
    select count(distinct (runnable_id, created_at))::int as mails,
      coalesce(bool_or(content ->> 'leftOutUntil' is not null), false) as announced, now() + interval '1 hour' as ends
    from alerts
    where client = ${client} and channel = 'MAIL' and event <> 'RECOVERED'
      and created_at > now() - interval '1 hour' and created_at <= now()`.execute(trx)
  const { mails, announced, ends } = rows[0]!
  if (announced) return { reached: true }
  const isLastWithinLimit = mails >= maxMailsPerHour - 1
  return { reached: false, ...(isLastWithinLimit && { leftOutUntil: ends.toISOString() }) }
}

/**
 * Returns a log line that explains why no email about a failed run is sent: the organisation has addresses, but the
 * service has no mail server. Returns undefined if no email is due.
 */
export async function explainMissingMail(
  db: Kysely<DB>,
  { id, client }: { id: number; client: string },
): Promise<string | undefined> {
  const run = await db.selectFrom('runs').select(['workflow_run_id', 'action']).where('id', '=', id).executeTakeFirst()
  if (!run || run.workflow_run_id !== null || run.action !== 'RUN') return undefined
  const { addresses } = await readAlertSetting(db, client)
  if (addresses.length === 0) return undefined
  return `ALERT_EMAIL names ${addresses.length === 1 ? 'an address' : `${addresses.length} addresses`}. ${noMailServer}`
}
