import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { failpoint } from '../failpoints.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { advance } from './advance.ts'
import type { WorkflowRun } from './workflow-run.ts'

/** Takes the workflows further that waited for this run. Answers those runs of them that ended by that. */
export async function advanceAfter(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id }: { id: number },
): Promise<WorkflowRun[]> {
  const waiting = await trx
    .selectFrom('workflow_run_jobs')
    .select('run_id')
    .distinct()
    .where('child_run_id', '=', id)
    .orderBy('run_id')
    .execute()
  const ended: WorkflowRun[] = []
  for (const { run_id } of waiting) {
    const run = await advance(trx, queue, run_id)
    if (run) ended.push(run)
  }
  if (waiting.length > 0) await failpoint('workflow-advanced')
  return ended
}
