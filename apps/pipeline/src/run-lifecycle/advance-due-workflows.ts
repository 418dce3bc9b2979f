import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { onRunFinished } from './finish-run.ts'
import { runTransaction } from '../runs/run-transaction.ts'
import { advanceWorkflow } from '../workflows/advance-workflow.ts'

const maxWorkflows = 200

/**
 * Advances up to `maxWorkflows` workflow runs that have something to do, and returns their number. Throws the first
 * error after trying all. Several processes may do this concurrently.
 */
export async function advanceDueWorkflows(db: Kysely<DB>, queue: JobQueue): Promise<number> {
  const workflowRuns = await listDueWorkflowRuns(db)
  const errors: unknown[] = []
  for (const id of workflowRuns) {
    try {
      await runTransaction(db, async (trx) => {
        const endedRun = await advanceWorkflow(trx, queue, id)
        if (endedRun) await onRunFinished(trx, queue, endedRun)
      })
    } catch (error) {
      // An error of one workflow must not stop the others.
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
  return workflowRuns.length
}

/**
 * Returns the ids of running workflow runs with a job whose delay has passed, and of those that missed the end of a
 * job's run, for example because a backup was restored.
 */
async function listDueWorkflowRuns(db: Kysely<DB>): Promise<number[]> {
  const { rows } = await sql<{ run_id: number }>`
    select job.run_id
    from workflow_run_jobs job join runs workflow_run on workflow_run.id = job.run_id
    where workflow_run.state = 'RUNNING' and job.state = 'WAITING' and job.due_at <= now()
    union
    select job.run_id
    from workflow_run_jobs job
    join runs workflow_run on workflow_run.id = job.run_id
    left join runs job_run on job_run.id = job.child_run_id
    where workflow_run.state = 'RUNNING' and job.state = 'RUNNING'
      and (job_run.id is null or job_run.state not in ('QUEUED', 'RUNNING'))
    limit ${maxWorkflows}`.execute(db)
  return rows.map(({ run_id }) => run_id)
}
