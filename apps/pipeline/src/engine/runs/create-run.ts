import { sql, type Selectable, type Transaction } from 'kysely'
import type { DB, Json, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { RunAction, RunMode } from './runnable.ts'
import { before, underWay } from './states.ts'

export interface RunRequest {
  runnableId: number
  client: string
  trigger: 'MANUAL' | 'SCHEDULE' | 'WORKFLOW'
  /** FULL unless told otherwise. */
  mode?: RunMode
  /** RUN unless told otherwise. */
  action?: RunAction
  /** The tick that it stands for, and the run of the workflow that asks. */
  scheduledFor?: Date
  workflowRunId?: number
  /** A user's uid; null when a schedule asks. */
  createdBy: string | null
  /** What to load, for example `{ file: { uid, name, size, sha256, uploaded } }`. */
  input: Json
}

export interface Created {
  run: Selectable<Runs>
  /** Whether it was under way before. */
  existing: boolean
}

/**
 * Queues a run, or answers the one that is under way already: two clicks make one run. A dry run that is under way gives
 * way to anything else. The caller's transaction carries the row and its job.
 */
export async function createRun(trx: Transaction<DB>, queue: JobQueue, request: RunRequest): Promise<Created> {
  const created = await addRun(trx, request)
  if (!created.existing) await queue.send(trx, created.run)
  return created
}

/** The row alone. `begun`: it is in nobody's queue, but RUNNING at once. */
export async function addRun(
  trx: Transaction<DB>,
  { runnableId, client, trigger, mode, action, scheduledFor, workflowRunId, createdBy, input }: RunRequest,
  { begun = false } = {},
): Promise<Created> {
  for (let tries = 0; tries < 3; tries += 1) {
    const created = await trx
      .insertInto('runs')
      .values({
        runnable_id: runnableId,
        client,
        trigger,
        ...(mode && { mode }),
        ...(action && { action }),
        ...(scheduledFor && { scheduled_for: scheduledFor }),
        ...(workflowRunId && { workflow_run_id: workflowRunId }),
        created_by: createdBy,
        input: JSON.stringify(input),
        // A transaction that waited for another run's end began before it: what is queued is made now.
        ...(begun
          ? { state: 'RUNNING', attempt: 1, started_at: sql<Date>`now()` }
          : { created_at: sql<Date>`clock_timestamp()` }),
      })
      .onConflict((conflict) =>
        conflict
          .column('runnable_id')
          .where('state', 'in', [...underWay])
          .doNothing(),
      )
      .returningAll()
      .executeTakeFirst()
    if (created) return { run: created, existing: false }
    const existing = await trx
      .selectFrom('runs')
      .selectAll()
      .where('runnable_id', '=', runnableId)
      .where('state', 'in', [...underWay])
      .executeTakeFirst()
    const givesWay = existing?.action === 'DRY_RUN' && action !== 'DRY_RUN'
    if (existing && !givesWay) return { run: existing, existing: true }
    if (existing) await endDryRun(trx, existing)
    // It ended, perhaps between the two statements: there is room for a new one now.
  }
  throw new Error(`Runs of ${runnableId} begin and end faster than another can be queued.`)
}

/** Nothing waits for a dry run, so nothing follows from its end. Its worker notices at its next heartbeat. */
async function endDryRun(trx: Transaction<DB>, { id }: Selectable<Runs>): Promise<void> {
  await trx
    .updateTable('runs')
    .set({
      state: 'CANCELLED',
      finished_at: sql`now()`,
      message: 'The dry run was cancelled, because another run of the pipeline began.',
      error_code: null,
    })
    .where('id', '=', id)
    .where('state', 'in', before('CANCELLED'))
    .execute()
}
