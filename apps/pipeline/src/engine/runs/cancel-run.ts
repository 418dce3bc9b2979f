import { sql, type Selectable, type Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { abandonJobs, lockJobs } from '../workflows/abandon-jobs.ts'
import { consequences } from './consequences.ts'
import { before } from './states.ts'

type Which = { runnableId: number } | { id: number }

/**
 * Cancels the run that is queued or running, if there is one. That holds at once: nothing is published any
 * more. Its worker notices at its next pulse, a second later at most, and clears up. The jobs of a workflow are
 * cancelled with it.
 */
export async function cancelRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  runnableId: number,
): Promise<Selectable<Runs> | undefined> {
  await lockJobs(trx, runnableId)
  return cancel(trx, queue, { runnableId })
}

const whatStays = sql<string>`'The run was cancelled.' || case (select kind from runnables r where r.id = runs.runnable_id)
  when 'DATA_PIPELINE' then ' The old data stays.'
  when 'VIEW' then ' The old data stays.'
  when 'DESTINATION' then ' What was sent before stays sent.'
  else '' end`

async function cancel(trx: Transaction<DB>, queue: JobQueue, which: Which): Promise<Selectable<Runs> | undefined> {
  const [column, key] = 'id' in which ? (['id', which.id] as const) : (['runnable_id', which.runnableId] as const)
  const run = await trx
    .updateTable('runs')
    .set({ state: 'CANCELLED', finished_at: sql`now()`, message: whatStays, error_code: null })
    .where(column, '=', key)
    .where('state', 'in', before('CANCELLED'))
    .returningAll()
    .executeTakeFirst()
  if (!run) return undefined
  for (const id of await abandonJobs(trx, run)) await cancel(trx, queue, { id })
  await consequences(trx, queue, run)
  return run
}
