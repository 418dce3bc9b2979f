import type { Selectable, Transaction } from 'kysely'
import type { DB, Json, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { underWay } from './states.ts'

export interface RunRequest {
  pipelineId: number
  client: string
  trigger: 'MANUAL' | 'SCHEDULE' | 'WORKFLOW'
  /** A user's uid; null when a schedule asks. */
  createdBy: string | null
  /** What to load, for example `{ file: { uid, name, size, sha256 } }`. */
  input: Json
}

/**
 * Queues a run of a pipeline, or answers the one that is under way already: two clicks make one run. The caller's
 * transaction carries the row and its job.
 */
export async function createRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  { pipelineId, client, trigger, createdBy, input }: RunRequest,
): Promise<{ run: Selectable<Runs>; existing: boolean }> {
  for (let tries = 0; tries < 3; tries += 1) {
    const created = await trx
      .insertInto('runs')
      .values({ pipeline_id: pipelineId, client, trigger, created_by: createdBy, input: JSON.stringify(input) })
      .onConflict((conflict) =>
        conflict
          .column('pipeline_id')
          .where('state', 'in', [...underWay])
          .doNothing(),
      )
      .returningAll()
      .executeTakeFirst()
    if (created) {
      await queue.send(trx, created)
      return { run: created, existing: false }
    }
    const existing = await trx
      .selectFrom('runs')
      .selectAll()
      .where('pipeline_id', '=', pipelineId)
      .where('state', 'in', [...underWay])
      .executeTakeFirst()
    if (existing) return { run: existing, existing: true }
    // It ended between the two statements: there is room for a new one now.
  }
  throw new Error(`Runs of pipeline ${pipelineId} begin and end faster than another can be queued.`)
}
