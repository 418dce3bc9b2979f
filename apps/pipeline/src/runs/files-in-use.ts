import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import { keptDays } from './runs-with-retained-data.ts'
import { underWay } from './run-states.ts'
import { rm } from 'node:fs/promises'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'

/** Hours without a new byte after which an unfinished upload is removed: a weekend and some hours. */
export const uploadExpiryHours = 72

/**
 * The uploaded files that are in use: by pipelines, by queued and running runs, and by organisations with the setting
 * RETAIN_TEMP_FILES. A file of a public dataset has another row for the organisation that publishes it. Unfinished
 * resumable uploads count with their announced size.
 */
const neededFileRows = sql`(
  select f.uid, p.client, f.size from uploaded_files f join data_pipelines p on p.id = f.pipeline_id
  union
  select (input -> 'file' ->> 'uid')::uuid, client, (input -> 'file' ->> 'size')::bigint
  from runs where state = any(${[...underWay]}::text[])
  union
  select uid, client, length from resumable_uploads where finished_at is null
  union
  select f.uid, d.client, f.size from public_datasets d join uploaded_files f on f.pipeline_id = d.pipeline_id
  union
  select (r.input -> 'file' ->> 'uid')::uuid, d.client, (r.input -> 'file' ->> 'size')::bigint
  from public_datasets d join runs r on r.runnable_id = d.pipeline_id where r.state = any(${[...underWay]}::text[])
  union
  select (r.input -> 'file' ->> 'uid')::uuid, r.client, (r.input -> 'file' ->> 'size')::bigint
  from settings s join runs r on r.client = s.client
  where s.key = 'RETAIN_TEMP_FILES' and s.value = 'true' and r.finished_at > now() - make_interval(days => ${keptDays}::int)
) as needed`

/** Returns those of the given file uids that are in use. */
export async function findFilesInUse(db: Kysely<DB>, uids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ uid: string }>`
    select uid from ${neededFileRows} where uid = any(${uids}::uuid[])`.execute(db)
  return new Set(rows.map(({ uid }) => uid))
}

/** Returns a subquery for the total size in bytes of an organisation's uploaded files that are in use. */
export const sumBytesInUse = (client: string) =>
  sql`(select coalesce(sum(size), 0)::float8 from ${neededFileRows} where client = ${client})`

/**
 * Returns the uids of a pipeline's uploaded file, of its resumable uploads, and of the files that its runs read.
 * Some of these files may already be removed.
 */
export async function listFilesOfPipeline(trx: Transaction<DB>, pipeline: number): Promise<string[]> {
  const { rows } = await sql<{ uid: string }>`
    select uid from uploaded_files where pipeline_id = ${pipeline}
    union
    select uid from resumable_uploads where pipeline_id = ${pipeline}
    union
    select (input -> 'file' ->> 'uid')::uuid from runs where runnable_id = ${pipeline} and input -> 'file' ->> 'uid' is not null`.execute(
    trx,
  )
  return rows.map(({ uid }) => uid)
}

/**
 * Removes uploaded files that are not in use, such as replaced files. Maintenance removes files later that cannot be
 * removed now. Never throws.
 */
export async function removeUnusedFiles(
  { db, directory }: { db: Kysely<DB>; directory: string },
  uids: readonly string[],
): Promise<void> {
  if (uids.length === 0) return
  try {
    const usedFiles = await findFilesInUse(db, uids)
    for (const uid of uids) if (!usedFiles.has(uid)) await rm(getUploadPath(directory, uid), { force: true })
  } catch {
    // Ignore the error, because maintenance removes the file later.
  }
}
