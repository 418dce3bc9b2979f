import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runs } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { onRunFinished } from './finish-run.ts'
import { statesThatMayBecome, underWay } from '../runs/run-states.ts'
import { type WorkflowRun, writeLog } from '../workflows/workflow-run.ts'

type RunSelector = { runnableId: number } | { id: number }

/**
 * Cancels the queued or running run of an object, if it has one. The run can no longer publish. Its worker notices the
 * cancellation at the next heartbeat, within a second, and cleans up. Cancelling a workflow also cancels its jobs.
 */
export async function cancelRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  runnableId: number,
): Promise<Selectable<Runs> | undefined> {
  await lockJobs(trx, runnableId)
  return cancelLockedRun(trx, queue, { runnableId })
}

const cancellationMessage = sql<string>`'The run was cancelled.' || case (select kind from runnables r where r.id = runs.runnable_id)
  when 'DATA_PIPELINE' then ' The old data stays.'
  when 'VIEW' then ' The old data stays.'
  when 'DESTINATION' then ' Data that was already sent stays in the target.'
  else '' end`

/**
 * Cancels the selected run if it is queued or running, and the runs that it started as jobs, which the caller must have
 * locked. Returns the cancelled run.
 */
async function cancelLockedRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  selector: RunSelector,
): Promise<Selectable<Runs> | undefined> {
  const cancellation = trx
    .updateTable('runs')
    .set({ state: 'CANCELLED', finished_at: sql`now()`, message: cancellationMessage, error_code: null })
    .where('state', 'in', statesThatMayBecome('CANCELLED'))
  const selectedCancellation =
    'id' in selector
      ? cancellation.where('id', '=', selector.id)
      : cancellation.where('runnable_id', '=', selector.runnableId)
  const run = await selectedCancellation.returningAll().executeTakeFirst()
  if (!run) return undefined
  const startedRuns = await cancelJobs(trx, run)
  for (const id of startedRuns) await cancelLockedRun(trx, queue, { id })
  await onRunFinished(trx, queue, run)
  return run
}

/**
 * Locks the runs of a workflow's jobs before the workflow's own run. The end of a run takes the locks in the same
 * order, which prevents deadlocks.
 */
async function lockJobs(trx: Transaction<DB>, workflow: number): Promise<void> {
  await sql`
    select from runs c
    where c.state in ('QUEUED', 'RUNNING') and c.workflow_run_id in (
      select id from runs where runnable_id = ${workflow} and state = 'RUNNING')
    order by c.id for update of c`.execute(trx)
}

/**
 * Ends the jobs of a cancelled workflow run: running jobs become CANCELLED, waiting jobs SKIPPED. Returns the ids of
 * unfinished runs that the workflow started, which the caller must cancel too. Runs that were started otherwise
 * continue. Writes the message of the workflow run and a line of its log, unless it had no unfinished jobs.
 */
async function cancelJobs(trx: Transaction<DB>, run: WorkflowRun): Promise<number[]> {
  const { rows } = await sql<{ child_run_id: number | null }>`
    update workflow_run_jobs set due_at = null,
      state = case state when 'WAITING' then 'SKIPPED' else 'CANCELLED' end,
      finished_at = case state when 'RUNNING' then now() end
    where run_id = ${run.id} and state in ('WAITING', 'RUNNING')
    returning child_run_id`.execute(trx)
  if (rows.length === 0) return []
  const message = 'The workflow was cancelled. Its running jobs were cancelled, and its other jobs are skipped.'
  await writeLog(trx, run, 'INFO', 'MEDIUM', message)
  await trx.updateTable('runs').set({ message }).where('id', '=', run.id).execute()
  const startedRuns = await trx
    .selectFrom('runs')
    .select('id')
    .where('workflow_run_id', '=', run.id)
    .where('state', 'in', [...underWay])
    .orderBy('id')
    .execute()
  return startedRuns.map(({ id }) => id)
}
