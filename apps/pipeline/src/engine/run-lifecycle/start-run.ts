import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { type Created, type Occasion, type Runnable, addRun, queueRun } from '../runs/queue-run.ts'
import { consequences } from './finish-run.ts'
import { advance } from '../workflows/advance.ts'
import { tell } from '../workflows/workflow-run.ts'

export type { Occasion, Runnable } from '../runs/queue-run.ts'

/** Begins a run of whatever it is, or answers the one that is under way, in the caller's transaction. */
export function startRun(trx: Transaction<DB>, queue: JobQueue, runnable: Runnable, asked: Occasion): Promise<Created> {
  return runnable.kind === 'WORKFLOW'
    ? beginWorkflow(trx, queue, runnable, asked)
    : queueRun(trx, queue, runnable, asked)
}

/**
 * Begins a run of a workflow, or answers the one that is under way, in the caller's transaction. No worker has it in hand:
 * it is RUNNING at once, keeps the workflow's steps as they are now, and goes on when the runs of its jobs end.
 */
async function beginWorkflow(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client }: Pick<Runnable, 'id' | 'client'>,
  asked: Occasion,
): Promise<Created> {
  const { strategy, jobs } = await stepsOf(trx, id)
  const request = { ...asked, runnableId: id, client, input: { errorStrategy: strategy } }
  const { run, existing } = await addRun(trx, request, { begun: true })
  if (existing) return { run, existing }

  await keepJobs(trx, run.id, jobs)
  const { length } = jobs.filter(({ disabled }) => !disabled)
  await tell(trx, run, 'INFO', 'LOW', `The workflow begins: ${length === 1 ? '1 job' : `${length} jobs`}.`)
  const ended = await advance(trx, queue, run.id)
  if (ended) await consequences(trx, queue, ended)
  return { run: ended ?? run, existing }
}

interface Planned {
  step: number
  job: number
  execution_mode: string
  delay_after: number
  disabled: boolean
  runnable_id: number
}

/**
 * What the workflow is to do, all of the same moment. By one statement and without a lock: the scheduler holds what whoever
 * replaces the steps needs, and the other way round.
 */
async function stepsOf(trx: Transaction<DB>, workflow: number): Promise<{ strategy: string; jobs: Planned[] }> {
  const { rows } = await sql<{ strategy: string; jobs: Planned[] | null }>`
    select w.error_strategy as strategy, (
      select json_agg(json_build_object('step', s.step, 'job', j.job, 'execution_mode', s.execution_mode,
        'delay_after', s.delay_after, 'disabled', s.disabled, 'runnable_id', j.runnable_id))
      from workflow_steps s join workflow_jobs j on (j.workflow_id, j.step) = (s.workflow_id, s.step)
      where s.workflow_id = w.id) as jobs
    from workflows w where w.id = ${workflow}`.execute(trx)
  return { strategy: rows[0]!.strategy, jobs: rows[0]!.jobs ?? [] }
}

/** Jobs of disabled steps are left out from the beginning. */
async function keepJobs(trx: Transaction<DB>, run: number, jobs: readonly Planned[]): Promise<void> {
  await sql`
    insert into workflow_run_jobs
      (run_id, step, job, execution_mode, delay_after, runnable_id, name, kind, state)
    select ${run}, j.step, j.job, j.execution_mode, j.delay_after, r.id, r.name, r.kind,
      case when j.disabled then 'SKIPPED' else 'WAITING' end
    from json_to_recordset(${JSON.stringify(jobs)}) as j (
      step integer, job integer, execution_mode text, delay_after double precision, disabled boolean, runnable_id bigint)
    join runnables r on r.id = j.runnable_id`.execute(trx)
}
