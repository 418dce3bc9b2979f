import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { queueRun } from '../runs/queue-run.ts'
import type { RunMode, RunnableKind } from '../runs/runnable.ts'
import { type StoredJob, tell, type WorkflowRun } from './workflow-run.ts'

/**
 * Queues the run of a job, or leaves the job out where what it runs is disabled or gone. Where a run of it is under way
 * already, for whatever reason, that one is waited for: one thing has one run at a time.
 */
export async function startJob(
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
