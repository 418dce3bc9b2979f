import type { Transaction } from 'kysely'
import type { DB, JsonObject } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { createRun, type Created, type RunRequest } from './create-run.ts'
import type { RunnableKind } from './runnable.ts'
import { readUploadState } from './upload-fingerprint.ts'

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
