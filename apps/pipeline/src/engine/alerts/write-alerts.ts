import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { alertAddresses } from '../../settings.ts'
import type { EndedRun } from '../runs/consequences.ts'
import type { RunnableKind } from '../runs/runnable.ts'
import { type AlertContent, type Channel, toOperator } from './alert.ts'

/** A client's own list is bounded; this is so that no other way to write it makes a thousand letters of one failure. */
const mostAddresses = 50

/**
 * Writes what is to be sent about a run that failed, in the transaction of its end: to the addresses of its client, where they
 * have heard nothing of the same thing for an hour, and to the operator's webhook. The failed job of a workflow is told of
 * by the workflow, and whoever asked for a dry run looks at it.
 */
export async function alertAbout(trx: Transaction<DB>, run: EndedRun): Promise<void> {
  if (run.state !== 'FAILED' || run.workflow_run_id !== null || run.action === 'DRY_RUN') return
  const subject = await trx
    .selectFrom('runnables')
    .select(['uid', 'kind', 'name'])
    .where('id', '=', run.runnable_id)
    .executeTakeFirst()
  if (!subject) return
  const addresses = new Set((await alertAddresses(trx, run.client)).slice(0, mostAddresses))
  const { heard, failures } = await lately(trx, run)
  const content: AlertContent = {
    client: run.client,
    kind: subject.kind as RunnableKind,
    id: subject.uid,
    name: subject.name,
    run: run.uid,
    trigger: run.trigger,
    errorCode: run.error_code,
    message: run.message ?? '',
    finished: (run.finished_at ?? new Date()).toISOString(),
    failures,
  }
  const row = (channel: Channel, recipient: string) => ({
    run_id: run.id,
    runnable_id: run.runnable_id,
    client: run.client,
    channel,
    recipient,
    content: JSON.stringify(content),
  })
  const rows = [row('WEBHOOK', toOperator), ...(heard ? [] : [...addresses].map((address) => row('MAIL', address)))]
  await trx
    .insertInto('alerts')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['run_id', 'channel', 'recipient']).doNothing())
    .execute()
}

/** Whether a letter about the same thing was written within the hour, and the failures since the last one. */
async function lately(
  trx: Transaction<DB>,
  { id, runnable_id }: EndedRun,
): Promise<{ heard: boolean; failures: number }> {
  const { rows } = await sql<{ heard: boolean; failures: number }>`
    with last as (
      select run_id, created_at from alerts
      where runnable_id = ${runnable_id} and channel = 'MAIL' order by created_at desc limit 1)
    select coalesce((select created_at > now() - interval '1 hour' from last), false) as heard,
      (select count(*) from runs
       where runnable_id = ${runnable_id} and id <= ${id} and state = 'FAILED' and action <> 'DRY_RUN'
         and id > coalesce((select run_id from last), ${id} - 1))::int as failures`.execute(trx)
  return rows[0]!
}
