import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { failpoint } from '../failpoints.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { wasLetGo } from '../runs/run-transaction.ts'
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
    const run = await apart(trx, () => advance(trx, queue, run_id))
    if (run) ended.push(run)
  }
  if (waiting.length > 0) await failpoint('workflow-advanced')
  return ended
}

/**
 * What is wrong with a workflow must not keep what it runs from ending. Nothing of a failed step remains then; it is tried again
 * when delays are looked at, which tells of the failure. A deadlock is for the whole transaction to begin anew.
 */
async function apart<T>(trx: Transaction<DB>, work: () => Promise<T>): Promise<T | undefined> {
  await sql`savepoint workflow`.execute(trx)
  try {
    const result = await work()
    await sql`release savepoint workflow`.execute(trx)
    return result
  } catch (error) {
    if (wasLetGo(error)) throw error
    await sql`rollback to savepoint workflow`.execute(trx)
    return undefined
  }
}
