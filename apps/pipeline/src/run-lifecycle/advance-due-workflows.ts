import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { onRunFinished } from './finish-run.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { advanceWorkflow } from '../workflows/advance-workflow.ts'

const maxWorkflows = 200

/**
 * Advances workflow runs that have a due job after a delay, and those that missed the end of a job's run, for example
 * after a backup was restored. Advances at most `maxWorkflows` runs and returns their number. Throws the
 * first error after trying all. Several processes may do
 * this concurrently.
 */
export async function advanceDueWorkflows(db: Kysely<DB>, queue: JobQueue): Promise<number> {
  const { rows } = await sql<{ run_id: number }>`
    select j.run_id
    from workflow_run_jobs j join runs r on r.id = j.run_id
    where j.state = 'WAITING' and j.due_at <= now() and r.state = 'RUNNING'
    union
    select j.run_id
    from workflow_run_jobs j join runs r on r.id = j.run_id left join runs c on c.id = j.child_run_id
    where j.state = 'RUNNING' and r.state = 'RUNNING' and (c.id is null or c.state not in ('QUEUED', 'RUNNING'))
    limit ${maxWorkflows}`.execute(db)
  const errors: unknown[] = []
  for (const { run_id } of rows) {
    try {
      await runTransaction(db, async (trx) => {
        const endedRun = await advanceWorkflow(trx, queue, run_id)
        if (endedRun) await onRunFinished(trx, queue, endedRun)
      })
    } catch (error) {
      // An error of one workflow must not stop the others.
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
  return rows.length
}
