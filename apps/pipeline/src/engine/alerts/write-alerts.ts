import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { alertSetting } from '../../settings.ts'
import type { EndedRun } from '../runs/consequences.ts'
import type { RunnableKind } from '../runs/runnable.ts'
import { type AlertContent, type AlertEvent, type Channel, toOperator } from './alert.ts'

/** A client's own list is bounded; this is so that no other way to write it makes a thousand letters of one failure. */
export const mostRecipients = 50

/**
 * Writes what is to be sent about a run, in the transaction of its end: mails to the addresses of its client, and of failures a call
 * to the operator's webhook. A workflow reports its failed jobs itself. Dry runs and restores load nothing, and their caller
 * reads the result, so neither is reported.
 */
export async function alertAbout(trx: Transaction<DB>, run: EndedRun): Promise<void> {
  if (run.action !== 'RUN') return
  const isJob = run.workflow_run_id !== null
  const failed = run.state === 'FAILED' && !isJob
  const { addresses, warnings } = await alertSetting(trx, run.client)
  const recipients = [...new Set(addresses.slice(0, mostRecipients))]
  const mails = await mailsAbout(trx, run)
  const event = recipients.length === 0 ? undefined : eventToMail(run, { isJob, warnings, mails })
  if (!event && !failed) return
  const subject = await trx
    .selectFrom('runnables')
    .select(['uid', 'kind', 'name'])
    .where('id', '=', run.runnable_id)
    .executeTakeFirst()
  if (!subject) return
  const content: AlertContent = {
    event: event ?? 'FAILED',
    client: run.client,
    kind: subject.kind as RunnableKind,
    id: subject.uid,
    name: subject.name,
    run: run.uid,
    trigger: run.trigger,
    errorCode: run.error_code,
    message: run.message ?? '',
    finished: (run.finished_at ?? new Date()).toISOString(),
    failures: mails.alike,
  }
  const row = (channel: Channel, recipient: string) => ({
    run_id: run.id,
    runnable_id: run.runnable_id,
    client: run.client,
    channel,
    recipient,
    event: content.event!,
    content: JSON.stringify(content),
  })
  await trx
    .insertInto('alerts')
    .values([
      ...(failed ? [row('WEBHOOK', toOperator)] : []),
      ...(event ? recipients.map((address) => row('MAIL', address)) : []),
    ])
    .onConflict((conflict) => conflict.columns(['run_id', 'channel', 'recipient']).doNothing())
    .execute()
}

interface Mails {
  /** What the last mail about the thing said. */
  last: AlertEvent | null
  /** What mails of the last hour said. */
  withinHour: readonly AlertEvent[]
  /** Runs that ended like this one since the last mail, with this one. */
  alike: number
}

/**
 * The mail that a run is worth. Of each kind there is one an hour, but a failure after better news is
 * mailed at once, so that the last mail is true.
 */
function eventToMail(
  { state }: EndedRun,
  { isJob, warnings, mails }: { isJob: boolean; warnings: boolean; mails: Mails },
): AlertEvent | undefined {
  const { last, withinHour } = mails
  if (state === 'FAILED') return isJob || (last === 'FAILED' && withinHour.includes('FAILED')) ? undefined : 'FAILED'
  if (state === 'WARNING' && warnings) return isJob || withinHour.includes('WARNING') ? undefined : 'WARNING'
  // Without mails about warnings, a run with one is a success, except after a mail about a warning.
  const isWell = state === 'OK' || (state === 'WARNING' && last !== 'WARNING')
  const isKnownBad = last !== null && last !== 'RECOVERED'
  return isWell && isKnownBad && !withinHour.includes('RECOVERED') ? 'RECOVERED' : undefined
}

async function mailsAbout(trx: Transaction<DB>, { id, runnable_id, state }: EndedRun): Promise<Mails> {
  const { rows } = await sql<Mails>`
    with mails as (
      select event, run_id, created_at, id from alerts where runnable_id = ${runnable_id} and channel = 'MAIL')
    select (select event from mails order by created_at desc, id desc limit 1) as last,
      array(select distinct event from mails where created_at > now() - interval '1 hour') as "withinHour",
      (select count(*) from runs
       where runnable_id = ${runnable_id} and id <= ${id} and state = ${state} and action = 'RUN'
         and id > coalesce((select max(run_id) from mails), ${id} - 1))::int as alike`.execute(trx)
  return rows[0]!
}
