import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { consequences } from './finish-run.ts'
import { before, underWay } from '../runs/states.ts'
import { type WorkflowRun, tell } from '../workflows/workflow-run.ts'

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

/**
 * Locks the jobs' runs of a workflow's run that is under way, before that run itself is: in the order in which their ends
 * lock them, so that neither waits for the other in a circle.
 */
async function lockJobs(trx: Transaction<DB>, workflow: number): Promise<void> {
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
async function abandonJobs(trx: Transaction<DB>, run: WorkflowRun): Promise<number[]> {
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
