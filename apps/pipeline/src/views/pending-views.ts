import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { queueRun } from '../runs/queue-run.ts'
import { WarehouseProblem } from '@sluice/warehouses/warehouse'
import { asSentence } from '@sluice/process'

/**
 * Returns the reason why a view must wait: a table that it reads does not exist. Returns undefined for any other error.
 */
export function findPendingReason(error: unknown): string | undefined {
  if (!(error instanceof WarehouseProblem && error.relationMissing)) return undefined
  return `The view is pending, because it reads a table or view that does not exist yet. It is created as soon as that table or view exists. ${asSentence(error.message)}`
}

/** Stores the reason why a view is pending; null if it no longer is. */
export async function storePendingReason(db: Kysely<DB>, view: number, pending: string | null): Promise<void> {
  await sql`update views set pending = ${pending} where id = ${view} and pending is distinct from ${pending}`.execute(
    db,
  )
}

/** SQL of the ids of the enabled pending views that name one of these tables. `names` selects the names. */
export const selectPendingViews = (client: string, names: RawBuilder<unknown>): RawBuilder<number[]> => sql`(
  select coalesce(jsonb_agg(v.id order by v.id), '[]') from views v
  where v.client = ${client} and v.pending is not null and not v.disabled
    and exists (select from (${names}) t (name) where strpos(lower(v.query), lower(t.name)) > 0))`

/** Queues runs of the enabled pending views that name this table. */
export async function queuePendingViews(
  trx: Transaction<DB>,
  queue: JobQueue,
  client: string,
  table: string,
): Promise<void> {
  const { rows } = await sql<{ views: number[] }>`
    select ${selectPendingViews(client, sql`select ${table}::text`)} as views`.execute(trx)
  await queueViews(trx, queue, client, rows[0]!.views)
}

/** Queues runs of pending views. The run checks whether the view can be created. */
export async function queueViews(
  trx: Transaction<DB>,
  queue: JobQueue,
  client: string,
  views: readonly number[],
): Promise<void> {
  for (const id of views)
    await queueRun(trx, queue, { id, client, kind: 'VIEW' }, { trigger: 'SCHEDULE', createdBy: null })
}
