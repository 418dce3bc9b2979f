import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { underWay } from '../runs/states.ts'
import { tell, type WorkflowRun } from './workflow-run.ts'

/**
 * Locks the jobs' runs of a workflow's run that is under way, before that run itself is: in the order in which their ends
 * lock them, so that neither waits for the other in a circle.
 */
export async function lockJobs(trx: Transaction<DB>, workflow: number): Promise<void> {
  await sql`
    select from runs c
    where c.state in ('QUEUED', 'RUNNING') and c.workflow_run_id in (
      select id from runs where runnable_id = ${workflow} and state = 'RUNNING')
    order by c.id for update of c`.execute(trx)
}

/**
 * The run was cancelled: its jobs are waited for no longer, and left out where they have not begun. Answers the runs that
 * were begun for it and are under way, to be cancelled; those that others asked for go on.
 */
export async function abandonJobs(trx: Transaction<DB>, run: WorkflowRun): Promise<number[]> {
  const { rows } = await sql<{ child_run_id: number | null }>`
    update workflow_run_jobs set due_at = null,
      state = case state when 'WAITING' then 'SKIPPED' else 'CANCELLED' end,
      finished_at = case state when 'RUNNING' then now() end
    where run_id = ${run.id} and state in ('WAITING', 'RUNNING')
    returning child_run_id`.execute(trx)
  if (rows.length === 0) return []
  const message = 'The workflow was cancelled: jobs that were under way with it, and the others are left out.'
  await tell(trx, run, 'INFO', 'MEDIUM', message)
  await trx.updateTable('runs').set({ message }).where('id', '=', run.id).execute()
  const begun = await trx
    .selectFrom('runs')
    .select('id')
    .where('workflow_run_id', '=', run.id)
    .where('state', 'in', [...underWay])
    .orderBy('id')
    .execute()
  return begun.map(({ id }) => id)
}
