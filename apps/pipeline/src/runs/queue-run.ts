import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Json, JsonObject, Runs } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { RunAction, RunMode, RunnableKind } from './runnable-kinds.ts'
import { statesBefore, underWay } from './run-states.ts'

export interface Runnable {
  id: number
  client: string
  kind: RunnableKind
}

/** The trigger of a run, and its options. */
export type RunOptions = Omit<RunRequest, 'runnableId' | 'client' | 'input'> & {
  /** Rebuilds the table: its columns and types come from this load alone. Only for data pipelines. */
  rebuild?: boolean
  /**
   * Adds the rows of the file even if an earlier run has already added them. Only for uploads with writeMode APPEND.
   */
  repeatFile?: boolean
}

/**
 * Queues a run for a worker, in the caller's transaction. If a run of the object is queued or running, returns that
 * one. The input of a load contains the newest uploaded file of its pipeline, and `rebuild` and `repeatFile` if they
 * are set.
 */
export async function queueRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client, kind }: Runnable,
  { rebuild, repeatFile, ...options }: RunOptions,
): Promise<CreatedRun> {
  const readsSource = kind === 'DATA_PIPELINE' && options.action !== 'RESTORE'
  const requestFlags = { ...(rebuild && { rebuild }), ...(repeatFile && { repeatFile }) }
  const input = readsSource ? { ...(await readUploadedFile(trx, id)), ...requestFlags } : {}
  return createRun(trx, queue, { ...options, runnableId: id, client, input })
}

/**
 * Returns the newest uploaded file of a pipeline and the fingerprint of its load, as the input of a run. Returns an
 * empty object for a pipeline without a file. The run reads this file even if another one is uploaded later. The lock
 * makes a concurrent upload wait until the run is committed, so that the upload does not remove the file.
 */
async function readUploadedFile(trx: Transaction<DB>, pipeline: number): Promise<JsonObject> {
  const query = trx
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size', 'sha256', 'uploaded_at'])
    .where('pipeline_id', '=', pipeline)
    .forKeyShare()
  // If this statement waited for an upload, it sees neither the deleted row nor the new one. A second statement sees
  // the new one.
  const file = (await query.executeTakeFirst()) ?? (await query.executeTakeFirst())
  if (!file) return {}
  const { uploaded_at: uploadedAt, ...fileFields } = file
  const fingerprint = (await readUploadState(trx, pipeline))?.fingerprint
  return {
    file: { ...fileFields, uploaded: uploadedAt.toISOString() },
    ...(fingerprint !== undefined && { fingerprint }),
  }
}

/** The state of a pipeline's uploaded file and of everything else that determines its load. */
interface UploadState {
  /** Undefined if no file was uploaded. */
  fingerprint?: string
  /** Whether the last successful load had this fingerprint. */
  isLoaded: boolean
}

/**
 * Returns a digest (`fingerprint`) of everything that determines the load of an uploaded file: the file, the settings
 * and the transformation. If these use variables, it covers all variables of the organisation, because a variable's
 * name can be written in several ways (`${ name }`, JSON escapes). Returns undefined for a pipeline of another type.
 */
export async function readUploadState(trx: Transaction<DB>, pipeline: number): Promise<UploadState | undefined> {
  const { rows } = await sql<{ fingerprint: string | null; loaded: string | null }>`
    select
      case when f.id is not null then md5(jsonb_build_array(
        f.sha256, p.type, p.settings, p.transformation, p.schema_changes, p.schema_id, p.table_name, p.quality_group_id,
        p.write_mode, p.merge_key,
        (select jsonb_agg(jsonb_build_array(v.id, v.version) order by v.id) from variables v
         where v.client = p.client and strpos(p.settings::text || p.transformation::text, '\${') > 0)
      )::text) end as fingerprint,
      (select r.input ->> 'fingerprint' from runs r
       where r.runnable_id = p.id and r.action = 'RUN' and r.state in ('OK', 'WARNING') order by r.finished_at desc limit 1) as loaded
    from data_pipelines p left join uploaded_files f on f.pipeline_id = p.id
    where p.id = ${pipeline} and p.type in ('CSV_UPLOAD', 'PARQUET_UPLOAD')`.execute(trx)
  const [row] = rows
  if (!row) return undefined
  const { fingerprint, loaded } = row
  return { isLoaded: fingerprint !== null && fingerprint === loaded, ...(fingerprint !== null && { fingerprint }) }
}

interface RunRequest {
  runnableId: number
  client: string
  trigger: 'MANUAL' | 'SCHEDULE' | 'WORKFLOW'
  /** Default: FULL. */
  mode?: RunMode
  /** Default: RUN. */
  action?: RunAction
  /** The time at which the schedule planned the run. */
  scheduledFor?: Date
  /** The primary key of the workflow run that started this run. */
  workflowRunId?: number
  /** The uid of the user who started the run; null for schedules. */
  createdBy: string | null
  /** The data to load, such as `{ file: { uid, name, size, sha256, uploaded } }`. */
  input: Json
}

export interface CreatedRun {
  run: Selectable<Runs>
  /** Whether the returned run was already queued or running. */
  existing: boolean
}

/**
 * Queues a run in the caller's transaction. If a run of the object is queued or running, returns that one, so that two
 * clicks start one run. A dry run is cancelled instead, and the new run takes its place.
 */
export async function createRun(trx: Transaction<DB>, queue: JobQueue, request: RunRequest): Promise<CreatedRun> {
  const created = await insertRun(trx, request)
  if (!created.existing) await queue.send(trx, created.run)
  return created
}

/**
 * Inserts the row of a run without a job in the queue. If a run of the object is queued or running, returns that one,
 * but cancels a dry run unless the new run is a dry run too. With `isRunning`, the run is RUNNING at once, because no
 * worker executes it. Throws if other runs keep starting and ending.
 */
export async function insertRun(
  trx: Transaction<DB>,
  { runnableId, client, trigger, mode, action, scheduledFor, workflowRunId, createdBy, input }: RunRequest,
  { isRunning = false } = {},
): Promise<CreatedRun> {
  for (let attemptIndex = 0; attemptIndex < 3; attemptIndex += 1) {
    const createdRun = await trx
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
        // Use the current time: now() is the start of the transaction, which may have waited for the end of another
        // run.
        created_at: sql<Date>`clock_timestamp()`,
        ...(isRunning && { state: 'RUNNING', attempt: 1, started_at: sql<Date>`clock_timestamp()` }),
      })
      .onConflict((conflict) =>
        conflict
          .column('runnable_id')
          .where('state', 'in', [...underWay])
          .doNothing(),
      )
      .returningAll()
      .executeTakeFirst()
    if (createdRun) return { run: createdRun, existing: false }
    const existingRun = await trx
      .selectFrom('runs')
      .selectAll()
      .where('runnable_id', '=', runnableId)
      .where('state', 'in', [...underWay])
      .executeTakeFirst()
    const isReplaced = existingRun?.action === 'DRY_RUN' && action !== 'DRY_RUN'
    if (existingRun && !isReplaced) return { run: existingRun, existing: true }
    if (existingRun) await endDryRun(trx, existingRun)
    // The run that prevented the insertion has just ended, or was a dry run that is now cancelled. Try again.
  }
  throw new Error(`No run of object ${runnableId} could be queued, because other runs of it kept starting and ending.`)
}

/**
 * Cancels a dry run. Does not call `onRunFinished`, because nothing depends on a dry run. Its worker notices the
 * cancellation at the next heartbeat.
 */
async function endDryRun(trx: Transaction<DB>, { id }: Selectable<Runs>): Promise<void> {
  await trx
    .updateTable('runs')
    .set({
      state: 'CANCELLED',
      finished_at: sql`now()`,
      message: 'The dry run was cancelled, because another run was requested. Start it again after that run.',
      error_code: null,
    })
    .where('id', '=', id)
    .where('state', 'in', statesBefore('CANCELLED'))
    .execute()
}
