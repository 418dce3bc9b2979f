import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Json, JsonObject, Runs } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { RunAction, RunMode, RunnableKind } from './runnable-kinds.ts'
import { statesThatMayBecome, underWay } from './run-states.ts'

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
 * empty object for a pipeline without a file. The lock makes a concurrent upload wait until the run is committed, so
 * that the upload does not remove the file that the run will read.
 */
async function readUploadedFile(trx: Transaction<DB>, pipeline: number): Promise<JsonObject> {
  const selectFile = trx
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size', 'sha256', 'uploaded_at'])
    .where('pipeline_id', '=', pipeline)
    .forKeyShare()
  // If the first statement waits for an upload that replaces the row, it returns neither the old row nor the new one. A
  // second statement returns the new one.
  const file = (await selectFile.executeTakeFirst()) ?? (await selectFile.executeTakeFirst())
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
 * and the transformation, and whether the last successful run loaded exactly that. Returns undefined for a pipeline
 * that loads no uploaded file.
 */
export async function readUploadState(trx: Transaction<DB>, pipeline: number): Promise<UploadState | undefined> {
  // If the settings use any variable, the fingerprint covers all variables of the organisation, because a name can be
  // written in several ways (`${ name }`, JSON escapes).
  const { rows } = await sql<{ fingerprint: string | null; lastFingerprint: string | null }>`
    with pipeline as (
        select * from data_pipelines where id = ${pipeline} and type in ('CSV_UPLOAD', 'PARQUET_UPLOAD')),
      variable_versions as (
        select jsonb_agg(jsonb_build_array(variable.id, variable.version) order by variable.id) as versions
        from variables variable join pipeline on pipeline.client = variable.client
        where strpos(pipeline.settings::text || pipeline.transformation::text, '\${') > 0),
      last_success as (
        select run.input ->> 'fingerprint' as fingerprint from runs run join pipeline on pipeline.id = run.runnable_id
        where run.action = 'RUN' and run.state in ('OK', 'WARNING') order by run.finished_at desc limit 1)
    select
      case when file.id is not null then md5(jsonb_build_array(
        file.sha256, pipeline.type, pipeline.settings, pipeline.transformation, pipeline.schema_changes,
        pipeline.schema_id, pipeline.table_name, pipeline.quality_group_id, pipeline.write_mode, pipeline.merge_key,
        (select versions from variable_versions))::text) end as fingerprint,
      (select fingerprint from last_success) as "lastFingerprint"
    from pipeline left join uploaded_files file on file.pipeline_id = pipeline.id`.execute(trx)
  const [row] = rows
  if (!row) return undefined
  const { fingerprint, lastFingerprint } = row
  if (fingerprint === null) return { isLoaded: false }
  return { fingerprint, isLoaded: fingerprint === lastFingerprint }
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
  request: RunRequest,
  { isRunning = false } = {},
): Promise<CreatedRun> {
  const { runnableId, action } = request
  for (let triesLeft = 3; triesLeft > 0; triesLeft -= 1) {
    const createdRun = await insertUnlessActive(trx, request, isRunning)
    if (createdRun) return { run: createdRun, existing: false }
    const activeRun = await findActiveRun(trx, runnableId)
    // The run that prevented the insertion has just ended.
    if (!activeRun) continue
    const isReplaceable = activeRun.action === 'DRY_RUN' && action !== 'DRY_RUN'
    if (!isReplaceable) return { run: activeRun, existing: true }
    await cancelDryRun(trx, activeRun)
  }
  throw new Error(`No run of object ${runnableId} could be queued, because other runs of it kept starting and ending.`)
}

/** Inserts a run. Returns undefined, and inserts nothing, if a run of the object is queued or running. */
function insertUnlessActive(
  trx: Transaction<DB>,
  { runnableId, client, trigger, mode, action, scheduledFor, workflowRunId, createdBy, input }: RunRequest,
  isRunning: boolean,
): Promise<Selectable<Runs> | undefined> {
  // now() is the start of the transaction, which may have waited for the end of another run.
  const currentTime = sql<Date>`clock_timestamp()`
  return trx
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
      created_at: currentTime,
      ...(isRunning && { state: 'RUNNING', attempt: 1, started_at: currentTime }),
    })
    .onConflict((conflict) =>
      conflict
        .column('runnable_id')
        .where('state', 'in', [...underWay])
        .doNothing(),
    )
    .returningAll()
    .executeTakeFirst()
}

/** Returns the queued or running run of an object. There is at most one. */
function findActiveRun(trx: Transaction<DB>, runnableId: number): Promise<Selectable<Runs> | undefined> {
  return trx
    .selectFrom('runs')
    .selectAll()
    .where('runnable_id', '=', runnableId)
    .where('state', 'in', [...underWay])
    .executeTakeFirst()
}

/**
 * Cancels a dry run. Does not call `onRunFinished`, because nothing depends on a dry run. Its worker notices the
 * cancellation at the next heartbeat.
 */
async function cancelDryRun(trx: Transaction<DB>, { id }: Selectable<Runs>): Promise<void> {
  await trx
    .updateTable('runs')
    .set({
      state: 'CANCELLED',
      finished_at: sql`now()`,
      message: 'The dry run was cancelled, because another run was requested. Start it again after that run.',
      error_code: null,
    })
    .where('id', '=', id)
    .where('state', 'in', statesThatMayBecome('CANCELLED'))
    .execute()
}
