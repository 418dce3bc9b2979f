import { type Selectable, type Transaction, sql } from 'kysely'
import type { DB, Json, JsonObject, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { RunAction, RunMode, RunnableKind } from './runnable.ts'
import { before, underWay } from './states.ts'

export interface Runnable {
  id: number
  client: string
  kind: RunnableKind
}

/** Who or what asks, and how it is to be run. */
export type Occasion = Omit<RunRequest, 'runnableId' | 'client' | 'input'> & {
  /** Data pipelines only: the table takes its columns and types from this load alone. */
  rebuild?: boolean
}

/** Queues a run of whatever a worker does, or answers the one that is under way, in the caller's transaction. */
export async function queueRun(
  trx: Transaction<DB>,
  queue: JobQueue,
  { id, client, kind }: Runnable,
  { rebuild, ...asked }: Occasion,
): Promise<Created> {
  const reads = kind === 'DATA_PIPELINE' && asked.action !== 'RESTORE'
  const input = reads ? { ...(await fileOf(trx, id)), ...(rebuild && { rebuild }) } : {}
  return createRun(trx, queue, { ...asked, runnableId: id, client, input })
}

/**
 * The file that was uploaded last, where the pipeline loads one: a run keeps to it, whatever is uploaded meanwhile. Its fingerprint lets
 * a schedule tell whether there is anything new to load. Locks the row: an upload that replaces it waits until the run is committed,
 * and then keeps the file of the run on the disk.
 */
async function fileOf(trx: Transaction<DB>, pipeline: number): Promise<JsonObject> {
  const query = trx
    .selectFrom('uploaded_files')
    .select(['uid', 'name', 'size', 'sha256', 'uploaded_at'])
    .where('pipeline_id', '=', pipeline)
    .forKeyShare()
  // A statement that waited for an upload sees neither the deleted row nor the new one. The second statement sees the new one.
  const file = (await query.executeTakeFirst()) ?? (await query.executeTakeFirst())
  if (!file) return {}
  const { uploaded_at: uploaded, ...named } = file
  const fingerprint = (await readUploadState(trx, pipeline))?.fingerprint
  return { file: { ...named, uploaded: uploaded.toISOString() }, ...(fingerprint !== undefined && { fingerprint }) }
}

/** What a load of an uploaded file depends on. */
interface UploadState {
  /** Absent where no file was uploaded. */
  fingerprint?: string
  /** Whether the last load that ended well had the same fingerprint. */
  isLoaded: boolean
}

/**
 * Returns a digest of everything that determines the load of an uploaded file: the file, the settings, the transformation and, if these use variables, all
 * variables of the client, because a name can be written in several ways (`${ name }`, JSON escapes). Undefined for any other pipeline.
 */
export async function readUploadState(trx: Transaction<DB>, pipeline: number): Promise<UploadState | undefined> {
  const { rows } = await sql<{ fingerprint: string | null; loaded: string | null }>`
    select
      case when f.id is not null then md5(jsonb_build_array(
        f.sha256, p.type, p.settings, p.transformation, p.schema_changes, p.schema_id, p.table_name, p.quality_group_id,
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
