import { type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { type RunJob, chooseNextAction } from './next-step.ts'
import { type StoredJob, type WorkflowRun, listJobs, lockRun, getStrategy, writeLog } from './workflow-run.ts'
import { queueRun } from '../runs/queue-run.ts'
import type { RunMode, RunnableKind } from '../runs/runnable-kinds.ts'
import { failpoint } from '@sluice/process'
import { isSerializationFailure } from '../runs/run-transaction.ts'

/**
 * Advances a workflow run: copies the results of ended jobs, and starts the next jobs. Safe to repeat, because all
 * state is in the database. Returns the workflow run if this call ended it; the caller must then call `onRunFinished`.
 */
export async function advanceWorkflow(
  trx: Transaction<DB>,
  queue: JobQueue,
  runId: number,
): Promise<WorkflowRun | undefined> {
  const run = await lockRun(trx, runId)
  if (!run) return undefined
  for (;;) {
    await copyJobResults(trx, run)
    if (run.state !== 'RUNNING') return undefined
    const jobs = await listJobs(trx, run.id)
    const nextAction = chooseNextAction(jobs, getStrategy(run), await readDatabaseTime(trx))
    switch (nextAction.type) {
      case 'start':
        for (const job of nextAction.jobs) await startJob(trx, queue, run, job)
        break
      case 'skip':
        await skipJobs(trx, run, nextAction.jobs)
        break
      case 'wait':
        if (nextAction.until) await writeDueTime(trx, run, jobs, nextAction.until)
        return undefined
      case 'end':
        return endRun(trx, run, jobs, nextAction.state)
    }
  }
}

/** Returns the time of the database, because the end times of runs come from the same clock. */
async function readDatabaseTime(trx: Transaction<DB>): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp()::timestamptz(3) as now`.execute(trx)
  return rows[0]!.now
}

async function skipJobs(trx: Transaction<DB>, run: WorkflowRun, jobs: readonly StoredJob[]): Promise<void> {
  await trx
    .updateTable('workflow_run_jobs')
    .set({ state: 'SKIPPED', due_at: null })
    .where('run_id', '=', run.id)
    .where('state', '=', 'WAITING')
    .execute()
  await writeLog(trx, run, 'WARN', 'HIGH', `The workflow stops after a failed job: ${countJobs(jobs)} skipped.`)
}

/** Stores and logs the start time of the step that waits for its delay. Does nothing if this time is stored already. */
async function writeDueTime(
  trx: Transaction<DB>,
  run: WorkflowRun,
  jobs: readonly StoredJob[],
  startTime: Date,
): Promise<void> {
  const waitingJobs = jobs.filter(({ state }) => state === 'WAITING')
  if (waitingJobs.some(({ dueAt }) => dueAt?.getTime() === startTime.getTime())) return
  const firstJob = waitingJobs[0]!
  await trx
    .updateTable('workflow_run_jobs')
    .set({ due_at: startTime })
    .where('run_id', '=', run.id)
    .where('step', '=', firstJob.step)
    .where('job', '=', firstJob.job)
    .execute()
  await writeLog(trx, run, 'INFO', 'LOW', `Step ${firstJob.step} starts at ${startTime.toISOString()}.`)
}

/** Ends a workflow run with its final state and message. */
async function endRun(
  trx: Transaction<DB>,
  run: WorkflowRun,
  jobs: readonly StoredJob[],
  state: 'OK' | 'WARNING' | 'FAILED',
): Promise<WorkflowRun> {
  const message = describeWorkflowEnd(jobs)
  await writeLog(trx, run, logLevels[state], state === 'FAILED' ? 'HIGH' : 'MEDIUM', message)
  return trx
    .updateTable('runs')
    .set({ state, message, error_code: state === 'FAILED' ? 'JOBS_FAILED' : null, finished_at: sql`clock_timestamp()` })
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** The level of the log line about the end of a job or a workflow. */
const logLevels = { OK: 'INFO', WARNING: 'WARN', FAILED: 'ERROR', CANCELLED: 'ERROR' } as const

interface EndedJob {
  name: string
  state: keyof typeof jobEndPhrases
}

/**
 * Copies the states of ended runs to their jobs. If the run was deleted, the job fails. A cancelled run can become OK
 * or WARNING later, if the warehouse had committed its rows before the cancellation.
 */
async function copyJobResults(trx: Transaction<DB>, run: WorkflowRun): Promise<void> {
  const { rows } = await sql<EndedJob>`
    with ended_job as (
      select job.step, job.job, coalesce(job_run.state, 'FAILED') as state,
        coalesce(job_run.finished_at, now()) as finished_at
      from workflow_run_jobs job left join runs job_run on job_run.id = job.child_run_id
      where job.run_id = ${run.id} and (
        (job.state = 'RUNNING' and (job_run.id is null or job_run.state not in ('QUEUED', 'RUNNING')))
        or (job.state = 'CANCELLED' and job_run.state in ('OK', 'WARNING'))))
    update workflow_run_jobs job
    set state = ended_job.state, finished_at = ended_job.finished_at
    from ended_job
    where job.run_id = ${run.id} and job.step = ended_job.step and job.job = ended_job.job
    returning job.name, job.state`.execute(trx)
  for (const { name, state } of rows)
    await writeLog(trx, run, logLevels[state], 'MEDIUM', `"${name}" ${jobEndPhrases[state]}`)
}

/**
 * Starts the run of a job, or skips the job if its object is disabled or deleted. If a run of the object is queued or
 * running, the job waits for that run, because an object has only one run at a time.
 */
async function startJob(
  trx: Transaction<DB>,
  queue: JobQueue,
  workflowRun: WorkflowRun,
  job: StoredJob,
): Promise<void> {
  const runnable = await findRunnable(trx, job)
  if (!runnable || runnable.disabled) {
    await updateJob(trx, workflowRun, job, { state: 'SKIPPED', due_at: null })
    const reason = runnable ? 'is disabled' : 'was deleted'
    await writeLog(trx, workflowRun, 'WARN', 'MEDIUM', `"${job.name}" ${reason}, so it is skipped.`)
    return
  }

  const isContinuous = runnable.kind === 'DATA_PIPELINE' && runnable.continuously_updated
  const mode: RunMode = isContinuous ? (workflowRun.mode as RunMode) : 'FULL'
  const { run, existing } = await queueRun(
    trx,
    queue,
    { id: runnable.id, client: runnable.client, kind: runnable.kind as RunnableKind },
    { trigger: 'WORKFLOW', workflowRunId: workflowRun.id, mode, createdBy: workflowRun.created_by },
  )
  // The lock ensures that the job learns about the end of the run. If the run has already ended, the next iteration
  // copies its result. Otherwise the transaction that ends the run waits for this one and then finds the job.
  if (existing) await trx.selectFrom('runs').select('id').where('id', '=', run.id).forShare().executeTakeFirst()
  await updateJob(trx, workflowRun, job, {
    state: 'RUNNING',
    due_at: null,
    child_run_id: run.id,
    started_at: sql`now()`,
  })
  const sentence = existing ? 'has a queued or running run already; the workflow waits for it.' : 'is queued.'
  await writeLog(trx, workflowRun, 'INFO', existing ? 'MEDIUM' : 'LOW', `"${job.name}" ${sentence}`)
}

/** Returns the object of a job. Returns undefined if it was deleted. */
async function findRunnable(trx: Transaction<DB>, { runnableId }: StoredJob) {
  if (runnableId === null) return undefined
  return trx
    .selectFrom('runnables')
    .select(['id', 'client', 'kind', 'disabled', 'continuously_updated'])
    .where('id', '=', runnableId)
    .executeTakeFirst()
}

async function updateJob(trx: Transaction<DB>, { id }: WorkflowRun, { step, job }: StoredJob, columns: object) {
  await trx
    .updateTable('workflow_run_jobs')
    .set(columns)
    .where('run_id', '=', id)
    .where('step', '=', step)
    .where('job', '=', job)
    .execute()
}

interface NamedJob extends RunJob {
  name: string
}

/** The maximum number of jobs that a message names. */
const maxNamed = 5

/** Returns the final message of a workflow run. */
function describeWorkflowEnd(jobs: readonly NamedJob[]): string {
  const jobsIn = (...states: NamedJob['state'][]) => jobs.filter(({ state }) => states.includes(state))
  const endedJobs = jobsIn('OK', 'WARNING')
  const jobsWithWarnings = jobsIn('WARNING')
  const failedJobs = jobsIn('FAILED')
  const cancelledJobs = jobsIn('CANCELLED')
  const skippedJobs = jobsIn('SKIPPED')
  if (failedJobs.length + cancelledJobs.length + endedJobs.length === 0)
    return 'No job ran, because the workflow has no enabled jobs. Add or enable jobs.'
  return [
    failedJobs.length > 0 && `${countJobs(failedJobs)} failed: ${joinNames(failedJobs)}.`,
    cancelledJobs.length > 0 && `${countJobs(cancelledJobs)} cancelled: ${joinNames(cancelledJobs)}.`,
    endedJobs.length > 0 && `${countJobs(endedJobs)} ended${jobsWithWarnings.length > 0 ? '' : ' well'}.`,
    jobsWithWarnings.length > 0 && `With warnings: ${joinNames(jobsWithWarnings)}.`,
    skippedJobs.length > 0 && `Skipped: ${joinNames(skippedJobs)}.`,
    failedJobs.length + cancelledJobs.length > 0 &&
      'Read the messages of these runs, correct the errors, then run the workflow again.',
  ]
    .filter((sentence) => sentence !== false)
    .join(' ')
}

const countJobs = ({ length }: readonly RunJob[]) => (length === 1 ? '1 job' : `${length} jobs`)

/** Joins the names of jobs for a message: `"a", "b" and 3 more`. */
function joinNames(jobs: readonly NamedJob[]): string {
  const names = jobs.slice(0, maxNamed).map(({ name }) => `"${name}"`)
  if (jobs.length > maxNamed) names.push(`${jobs.length - maxNamed} more`)
  const lastName = names.pop()!
  return names.length > 0 ? `${names.join(', ')} and ${lastName}` : lastName
}

const jobEndPhrases: Readonly<Record<'OK' | 'WARNING' | 'FAILED' | 'CANCELLED', string>> = {
  OK: 'ended well.',
  WARNING: 'ended with a warning.',
  FAILED: 'failed.',
  CANCELLED: 'was cancelled.',
}

/** Advances the runs of workflows that waited for a run. Returns those that ended. */
export async function advanceWorkflows(
  trx: Transaction<DB>,
  queue: JobQueue,
  waitingRuns: readonly number[],
): Promise<WorkflowRun[]> {
  const endedWorkflows: WorkflowRun[] = []
  for (const id of waitingRuns) {
    const workflow = await withSavepoint(trx, () => advanceWorkflow(trx, queue, id))
    if (workflow) endedWorkflows.push(workflow)
  }
  if (waitingRuns.length > 0) await failpoint('workflow-advanced')
  return endedWorkflows
}

/**
 * Runs `callback` after setting a savepoint. If the workflow cannot be advanced, rolls back to the savepoint, so that
 * the job's run can still end; `advanceDueWorkflows` then retries the workflow and logs the error. Rethrows a
 * serialization failure, because the whole transaction must be repeated.
 */
async function withSavepoint<T>(trx: Transaction<DB>, callback: () => Promise<T>): Promise<T | undefined> {
  await sql`savepoint workflow`.execute(trx)
  try {
    const result = await callback()
    await sql`release savepoint workflow`.execute(trx)
    return result
  } catch (error) {
    if (isSerializationFailure(error)) throw error
    await sql`rollback to savepoint workflow`.execute(trx)
    return undefined
  }
}
