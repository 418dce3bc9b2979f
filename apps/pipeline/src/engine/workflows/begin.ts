import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { consequences } from '../runs/consequences.ts'
import { addRun, type Created } from '../runs/create-run.ts'
import type { Occasion, Runnable } from '../runs/queue-run.ts'
import { advance } from './advance.ts'
import { tell } from './workflow-run.ts'

/**
 * Begins a run of a workflow, or answers the one that is under way, in the caller's transaction. No worker has it in hand:
 * it is RUNNING at once, keeps the workflow's steps as they are now, and goes on when the runs of its jobs end.
 */
export async function beginWorkflow(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client }: Pick<Runnable, 'id' | 'client'>,
  asked: Occasion,
): Promise<Created> {
  // Whoever replaces the steps holds this row.
  const { error_strategy } = await trx
    .selectFrom('workflows')
    .select('error_strategy')
    .where('id', '=', id)
    .forShare()
    .executeTakeFirstOrThrow()
  const request = { ...asked, runnableId: id, client, input: { errorStrategy: error_strategy } }
  const { run, existing } = await addRun(trx, request, { begun: true })
  if (existing) return { run, existing }

  const jobs = await copyJobs(trx, run.id, id)
  await tell(trx, run, 'INFO', 'LOW', `The workflow begins: ${jobs === 1 ? '1 job' : `${jobs} jobs`}.`)
  const ended = await advance(trx, queue, run.id)
  if (ended) await consequences(trx, queue, ended)
  return { run: ended ?? run, existing }
}

/** Those of disabled steps are left out from the beginning. Answers how many are not. */
async function copyJobs(trx: Transaction<DB>, run: number, workflow: number): Promise<number> {
  const { rows } = await sql<{ state: string }>`
    insert into workflow_run_jobs
      (run_id, step, job, execution_mode, delay_after, runnable_id, name, kind, state)
    select ${run}, s.step, j.job, s.execution_mode, s.delay_after, r.id, r.name, r.kind,
      case when s.disabled then 'SKIPPED' else 'WAITING' end
    from workflow_steps s
    join workflow_jobs j on (j.workflow_id, j.step) = (s.workflow_id, s.step)
    join runnables r on r.id = j.runnable_id
    where s.workflow_id = ${workflow}
    returning state`.execute(trx)
  return rows.filter(({ state }) => state === 'WAITING').length
}
