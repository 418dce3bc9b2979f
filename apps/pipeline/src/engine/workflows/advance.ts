import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { type RunJob, nextOf } from './next-step.ts'
import { type StoredJob, type WorkflowRun, jobsOf, lockRun, strategyOf, tell } from './workflow-run.ts'
import { queueRun } from '../runs/queue-run.ts'
import type { RunMode, RunnableKind } from '../runs/runnable.ts'
import { failpoint } from '../failpoints.ts'
import { wasLetGo } from '../runs/run-transaction.ts'

/**
 * Takes a workflow's run as far as it can go now: what ended is noted, what comes next is queued. Everything follows from
 * its rows, so it does no harm to call it once too often. Answers the run if that ended it; its consequences are the
 * caller's to see to.
 */
export async function advance(trx: Transaction<DB>, queue: JobQueue, runId: number): Promise<WorkflowRun | undefined> {
  const run = await lockRun(trx, runId)
  if (!run) return undefined
  for (;;) {
    await settleJobs(trx, run)
    if (run.state !== 'RUNNING') return undefined
    const jobs = await jobsOf(trx, run.id)
    const next = nextOf(jobs, strategyOf(run), await now(trx))
    switch (next.act) {
      case 'start':
        for (const job of next.jobs) await startJob(trx, queue, run, job)
        break
      case 'skip':
        await leaveOut(trx, run, next.jobs)
        break
      case 'wait':
        if (next.until) await noteDue(trx, run, jobs, next.until)
        return undefined
      case 'end':
        return end(trx, run, jobs, next.state)
    }
  }
}

/** The database's clock, by which runs end. */
async function now(trx: Transaction<DB>): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp()::timestamptz(3) as now`.execute(trx)
  return rows[0]!.now
}

async function leaveOut(trx: Transaction<DB>, run: WorkflowRun, jobs: readonly StoredJob[]): Promise<void> {
  await trx
    .updateTable('workflow_run_jobs')
    .set({ state: 'SKIPPED', due_at: null })
    .where('run_id', '=', run.id)
    .where('state', '=', 'WAITING')
    .execute()
  const many = jobs.length === 1 ? '1 job' : `${jobs.length} jobs`
  await tell(trx, run, 'WARN', 'HIGH', `The workflow stops at errors: ${many} left out.`)
}

async function noteDue(trx: Transaction<DB>, run: WorkflowRun, jobs: readonly StoredJob[], due: Date): Promise<void> {
  const waiting = jobs.filter(({ state }) => state === 'WAITING')
  if (waiting.some(({ dueAt }) => dueAt?.getTime() === due.getTime())) return
  const first = waiting[0]!
  await trx
    .updateTable('workflow_run_jobs')
    .set({ due_at: due })
    .where('run_id', '=', run.id)
    .where('step', '=', first.step)
    .where('job', '=', first.job)
    .execute()
  await tell(trx, run, 'INFO', 'LOW', `Step ${first.step} begins at ${due.toISOString()}.`)
}

async function end(
  trx: Transaction<DB>,
  run: WorkflowRun,
  jobs: readonly StoredJob[],
  state: 'OK' | 'WARNING' | 'FAILED',
): Promise<WorkflowRun> {
  const message = howItEnded(jobs)
  const [level, importance] = (
    { OK: ['INFO', 'MEDIUM'], WARNING: ['WARN', 'MEDIUM'], FAILED: ['ERROR', 'HIGH'] } as const
  )[state]
  await tell(trx, run, level, importance, message)
  return trx
    .updateTable('runs')
    .set({ state, message, error_code: state === 'FAILED' ? 'JOBS_FAILED' : null, finished_at: sql`clock_timestamp()` })
    .where('id', '=', run.id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

interface Settled {
  name: string
  state: keyof typeof howJobEnded
}

/**
 * Takes over how the runs ended that jobs wait for. A run that is gone failed; one that was cancelled a moment after its
 * warehouse had committed is what it turned out to be.
 */
async function settleJobs(trx: Transaction<DB>, run: WorkflowRun): Promise<void> {
  const { rows } = await sql<Settled>`
    update workflow_run_jobs j
    set state = coalesce(c.state, 'FAILED'), finished_at = coalesce(c.finished_at, now())
    from workflow_run_jobs w left join runs c on c.id = w.child_run_id
    where w.run_id = ${run.id} and (j.run_id, j.step, j.job) = (w.run_id, w.step, w.job) and case w.state
      when 'RUNNING' then coalesce(c.state not in ('QUEUED', 'RUNNING'), true)
      when 'CANCELLED' then coalesce(c.state in ('OK', 'WARNING'), false)
      else false end
    returning j.name, j.state`.execute(trx)
  for (const { name, state } of rows) {
    const level = state === 'OK' ? 'INFO' : state === 'WARNING' ? 'WARN' : 'ERROR'
    await tell(trx, run, level, 'MEDIUM', `"${name}" ${howJobEnded[state]}`)
  }
}

/**
 * Queues the run of a job, or leaves the job out where what it runs is disabled or gone. Where a run of it is under way
 * already, for whatever reason, that one is waited for: one thing has one run at a time.
 */
async function startJob(
  trx: Transaction<DB>,
  queue: JobQueue,
  workflowRun: WorkflowRun,
  job: StoredJob,
): Promise<void> {
  const runnable =
    job.runnableId === null
      ? undefined
      : await trx
          .selectFrom('runnables')
          .select(['id', 'client', 'kind', 'disabled', 'continuously_updated'])
          .where('id', '=', job.runnableId)
          .executeTakeFirst()
  if (!runnable || runnable.disabled) {
    await change(trx, workflowRun, job, { state: 'SKIPPED', due_at: null })
    const why = runnable ? 'is disabled' : 'was deleted'
    await tell(trx, workflowRun, 'WARN', 'MEDIUM', `"${job.name}" ${why}, and is left out.`)
    return
  }

  const goesOn = runnable.kind === 'DATA_PIPELINE' && runnable.continuously_updated
  const mode: RunMode = goesOn ? (workflowRun.mode as RunMode) : 'FULL'
  const { run, existing } = await queueRun(
    trx,
    queue,
    { id: runnable.id, client: runnable.client, kind: runnable.kind as RunnableKind },
    { trigger: 'WORKFLOW', workflowRunId: workflowRun.id, mode, createdBy: workflowRun.created_by },
  )
  // Its end either waits for this transaction, and then knows of the job, or has come by now, and is seen by the next look.
  if (existing) await trx.selectFrom('runs').select('id').where('id', '=', run.id).forShare().executeTakeFirst()
  await change(trx, workflowRun, job, { state: 'RUNNING', due_at: null, child_run_id: run.id, started_at: sql`now()` })
  const sentence = existing ? 'was under way already; its run is waited for.' : 'is queued.'
  await tell(trx, workflowRun, 'INFO', existing ? 'MEDIUM' : 'LOW', `"${job.name}" ${sentence}`)
}

async function change(trx: Transaction<DB>, { id }: WorkflowRun, { step, job }: StoredJob, columns: object) {
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

const most = 5

/** How a workflow's run ended, for people: which jobs failed, and what became of the others. */
function howItEnded(jobs: readonly NamedJob[]): string {
  const of = (...states: NamedJob['state'][]) => jobs.filter(({ state }) => states.includes(state))
  const [done, warned, failed, cancelled, skipped] = [
    of('OK', 'WARNING'),
    of('WARNING'),
    of('FAILED'),
    of('CANCELLED'),
    of('SKIPPED'),
  ]
  if (failed.length + cancelled.length + done.length === 0)
    return 'No job ran: the workflow has none, or all of them are disabled.'
  return [
    failed.length > 0 && `${jobsWord(failed)} failed: ${named(failed)}.`,
    cancelled.length > 0 && `${jobsWord(cancelled)} cancelled: ${named(cancelled)}.`,
    done.length > 0 && `${jobsWord(done)} ended${warned.length > 0 ? '' : ' well'}.`,
    warned.length > 0 && `With warnings: ${named(warned)}.`,
    skipped.length > 0 && `Left out: ${named(skipped)}.`,
    failed.length + cancelled.length > 0 && 'Look at their runs, then run the workflow again.',
  ]
    .filter((sentence) => sentence !== false)
    .join(' ')
}

const jobsWord = ({ length }: readonly NamedJob[]) => (length === 1 ? '1 job' : `${length} jobs`)

function named(jobs: readonly NamedJob[]): string {
  const names = jobs.slice(0, most).map(({ name }) => `"${name}"`)
  if (jobs.length > most) names.push(`${jobs.length - most} more`)
  const last = names.pop()!
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

const howJobEnded: Readonly<Record<'OK' | 'WARNING' | 'FAILED' | 'CANCELLED', string>> = {
  OK: 'ended well.',
  WARNING: 'ended with a warning.',
  FAILED: 'failed.',
  CANCELLED: 'was cancelled.',
}

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
