import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Runs } from '../database.ts'
import { type Importance, type Level, toStorableText } from '../runs/run-log.ts'
import type { ErrorStrategy, JobState, RunJob } from './next-step.ts'

/** The row of a workflow run, which the transaction has locked. */
export type WorkflowRun = Selectable<Runs>

export interface StoredJob extends RunJob {
  name: string
  kind: string
  /** The primary key of the job's object; null if the object was deleted. */
  runnableId: number | null
  dueAt: Date | null
}

/** Returns the error strategy that the workflow had when the run started. */
export const getStrategy = ({ input }: WorkflowRun): ErrorStrategy =>
  (input as { errorStrategy?: ErrorStrategy }).errorStrategy ?? 'STOP'

/** Locks and returns the row of a workflow run, so that only one transaction at a time advances it. */
export function lockRun(trx: Transaction<DB>, id: number): Promise<WorkflowRun | undefined> {
  return trx.selectFrom('runs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Lists all jobs of a workflow run in order. */
export async function listJobs(trx: Transaction<DB>, run: number): Promise<StoredJob[]> {
  const rows = await trx
    .selectFrom('workflow_run_jobs')
    .selectAll()
    .where('run_id', '=', run)
    .orderBy('step')
    .orderBy('job')
    .execute()
  return rows.map((row) => ({
    step: row.step,
    job: row.job,
    executionMode: row.execution_mode as RunJob['executionMode'],
    delayAfter: row.delay_after,
    state: row.state as JobState,
    finishedAt: row.finished_at,
    name: row.name,
    kind: row.kind,
    runnableId: row.runnable_id,
    dueAt: row.due_at,
  }))
}

/**
 * Writes a line to the log of a workflow run, in the transaction that changes the run, so that the line is written
 * exactly once.
 */
export async function writeLog(
  trx: Transaction<DB>,
  { id, runnable_id }: Pick<WorkflowRun, 'id' | 'runnable_id'>,
  level: Level,
  importance: Importance,
  message: string,
): Promise<void> {
  await trx
    .insertInto('run_logs')
    .values({
      run_id: id,
      runnable_id,
      created_at: sql`clock_timestamp()`,
      level,
      importance,
      message: toStorableText(message, 10_000),
    })
    .execute()
}
