import { sql, type Selectable, type Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { consequences } from './consequences.ts'
import { before } from './states.ts'

/**
 * Cancels the run that is queued or running, if there is one. That holds at once: nothing is published any
 * more. Its worker notices at its next pulse, a second later at most, and clears up.
 */
export async function cancelRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  runnableId: number,
): Promise<Selectable<Runs> | undefined> {
  const run = await trx
    .updateTable('runs')
    .set({ state: 'CANCELLED', finished_at: sql`now()`, message: 'The run was cancelled. The old data stays.' })
    .where('runnable_id', '=', runnableId)
    .where('state', 'in', before('CANCELLED'))
    .returningAll()
    .executeTakeFirst()
  if (run) await consequences(trx, queue, run)
  return run
}
