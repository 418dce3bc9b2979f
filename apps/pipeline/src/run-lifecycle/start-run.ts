import { type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { type CreatedRun, type RunOptions, type Runnable, insertRun, queueRun } from '../runs/queue-run.ts'
import { onRunFinished } from './finish-run.ts'
import { advanceWorkflow } from '../workflows/advance-workflow.ts'
import { writeLog } from '../workflows/workflow-run.ts'

export type { RunOptions, Runnable } from '../runs/queue-run.ts'

/**
 * Starts a run of an object in the caller's transaction. If a run of the object is queued or running, returns that one.
 */
export function startRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  runnable: Runnable,
  options: RunOptions,
): Promise<CreatedRun> {
  return runnable.kind === 'WORKFLOW'
    ? startWorkflow(trx, queue, runnable, options)
    : queueRun(trx, queue, runnable, options)
}

/**
 * Starts a run of a workflow in the caller's transaction, or returns its running run. No worker executes it: it is
 * RUNNING at once, stores a copy of the workflow's steps, and continues whenever the run of a job ends.
 */
async function startWorkflow(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client }: Pick<Runnable, 'id' | 'client'>,
  options: RunOptions,
): Promise<CreatedRun> {
  const { strategy, jobs } = await readWorkflowJobs(trx, id)
  const request = { ...options, runnableId: id, client, input: { errorStrategy: strategy } }
  const { run, existing } = await insertRun(trx, request, { isRunning: true })
  if (existing) return { run, existing }

  await insertRunJobs(trx, run.id, jobs)
  const enabledCount = jobs.filter(({ disabled }) => !disabled).length
  await writeLog(trx, run, 'INFO', 'LOW', `The workflow runs ${enabledCount} ${enabledCount === 1 ? 'job' : 'jobs'}.`)
  const endedRun = await advanceWorkflow(trx, queue, run.id)
  if (endedRun) await onRunFinished(trx, queue, endedRun)
  return { run: endedRun ?? run, existing }
}

interface WorkflowJob {
  step: number
  job: number
  execution_mode: string
  delay_after: number
  disabled: boolean
  runnable_id: number
}

/**
 * Reads the steps of a workflow as a consistent snapshot. Uses one statement without a lock, because a lock could
 * deadlock with a request that replaces the steps.
 */
async function readWorkflowJobs(
  trx: Transaction<DB>,
  workflow: number,
): Promise<{ strategy: string; jobs: WorkflowJob[] }> {
  const { rows } = await sql<{ strategy: string; jobs: WorkflowJob[] | null }>`
    select workflow.error_strategy as strategy, (
      select json_agg(json_build_object('step', step.step, 'job', job.job, 'execution_mode', step.execution_mode,
        'delay_after', step.delay_after, 'disabled', step.disabled, 'runnable_id', job.runnable_id))
      from workflow_steps step
      join workflow_jobs job on job.workflow_id = step.workflow_id and job.step = step.step
      where step.workflow_id = workflow.id) as jobs
    from workflows workflow where workflow.id = ${workflow}`.execute(trx)
  return { strategy: rows[0]!.strategy, jobs: rows[0]!.jobs ?? [] }
}

/** Copies the jobs of a workflow to its run. Jobs in disabled steps become SKIPPED. */
async function insertRunJobs(trx: Transaction<DB>, run: number, jobs: readonly WorkflowJob[]): Promise<void> {
  await sql`
    insert into workflow_run_jobs
      (run_id, step, job, execution_mode, delay_after, runnable_id, name, kind, state)
    select ${run}, job.step, job.job, job.execution_mode, job.delay_after, object.id, object.name, object.kind,
      case when job.disabled then 'SKIPPED' else 'WAITING' end
    from json_to_recordset(${JSON.stringify(jobs)}) as job (
      step integer, job integer, execution_mode text, delay_after double precision, disabled boolean, runnable_id bigint)
    join runnables object on object.id = job.runnable_id`.execute(trx)
}
