import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { nextOf } from './next.ts'
import { howItEnded } from './sentences.ts'
import { settleJobs } from './settle-jobs.ts'
import { startJob } from './start-job.ts'
import { jobsOf, lockRun, type StoredJob, strategyOf, tell, type WorkflowRun } from './workflow-run.ts'

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
