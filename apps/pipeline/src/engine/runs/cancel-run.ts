import { sql, type Selectable, type Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import { before } from './states.ts'

/**
 * Cancels the pipeline's run that is queued or running, if there is one. That holds at once: nothing is published any
 * more. Its worker notices at its next pulse, a second later at most, and clears up.
 */
export async function cancelRun(trx: Transaction<DB>, pipelineId: number): Promise<Selectable<Runs> | undefined> {
  return trx
    .updateTable('runs')
    .set({ state: 'CANCELLED', finished_at: sql`now()`, message: 'The run was cancelled. The old data stays.' })
    .where('pipeline_id', '=', pipelineId)
    .where('state', 'in', before('CANCELLED'))
    .returningAll()
    .executeTakeFirst()
}
