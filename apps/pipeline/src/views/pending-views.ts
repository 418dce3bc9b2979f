import { sql, type Kysely, type Transaction } from 'kysely'
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

/**
 * Queues runs of enabled pending views, if their queries contain the name of one of these tables. The run then tries to
 * create the view.
 */
export async function queuePendingViews(
  trx: Transaction<DB>,
  queue: JobQueue,
  client: string,
  tables: readonly string[],
): Promise<void> {
  if (tables.length === 0) return
  const { rows } = await sql<{ id: number }>`
    select v.id from views v
    where v.client = ${client} and v.pending is not null and not v.disabled
      and exists (select from unnest(${tables}::text[]) t (name) where strpos(lower(v.query), lower(t.name)) > 0)
    order by v.id`.execute(trx)
  for (const { id } of rows)
    await queueRun(trx, queue, { id, client, kind: 'VIEW' }, { trigger: 'SCHEDULE', createdBy: null })
}

/** Lists the names of the tables and views that a run created or filled. */
export async function listTablesOfRun(trx: Transaction<DB>, run: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select t ->> 'name' as name from runs r, jsonb_array_elements(r.tables) t where r.id = ${run} and r.tables is not null
    union
    select v.view_name from runs r join views v on v.id = r.runnable_id where r.id = ${run} and v.pending is null`.execute(
    trx,
  )
  return rows.map(({ name }) => name)
}
