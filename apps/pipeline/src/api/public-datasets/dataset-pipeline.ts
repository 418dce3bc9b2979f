import { type Transaction, sql } from 'kysely'
import { warehouseTypes } from '@sluice/contracts/connector-types'
import { problems } from '@sluice/http-server'
import type { ReceivedFile } from '../../files/receive-file.ts'
import { catalogueClient, catalogueSchema } from '../../warehouses/public-dataset-owner.ts'
import type { DB } from '../../database.ts'
import { startRun } from '../../run-lifecycle/start-run.ts'
import type { RequestContext } from '../operation-context.ts'

/**
 * Inserts the pipeline that loads a public dataset, and returns its primary key. It has the type CSV_UPLOAD and belongs
 * to the catalogue organisation, which has no users.
 */
export async function insertPipeline(
  trx: Transaction<DB>,
  { key, headerRow }: { key: string; headerRow: boolean },
): Promise<number> {
  const schema = await ensureSchema(trx)
  const { id } = await trx
    .insertInto('data_pipelines')
    .values({
      client: catalogueClient,
      name: key,
      type: 'CSV_UPLOAD',
      disabled: false,
      run_trigger: 'NEVER',
      schema_id: schema,
      table_name: key,
      settings: formatSettings(headerRow),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const formatSettings = (headerRow: boolean): string => JSON.stringify({ csvOptions: { headerRow } })

/** Returns the primary key of the schema of public datasets. Creates the schema if it does not exist. */
async function ensureSchema(trx: Transaction<DB>): Promise<number> {
  await trx
    .insertInto('schemas')
    .values({
      client: catalogueClient,
      name: 'Public datasets',
      schema_name: catalogueSchema,
      permanent: true,
      provider_schema: warehouseTypes.postgres,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { id } = await trx
    .selectFrom('schemas')
    .select('id')
    .where('client', '=', catalogueClient)
    .where('schema_name', '=', catalogueSchema)
    .executeTakeFirstOrThrow()
  return id
}

/** Sets whether the first row of the dataset's file is the header. */
export async function setHeaderRow(trx: Transaction<DB>, pipeline: number, headerRow: boolean): Promise<void> {
  await trx
    .updateTable('data_pipelines')
    .set({ settings: formatSettings(headerRow) })
    .where('id', '=', pipeline)
    .execute()
}

/** Replaces the file of the pipeline by a newly received file. Returns the uids of the replaced files. */
export async function replaceFile(
  trx: Transaction<DB>,
  pipeline: number,
  {
    uid,
    name,
    size,
    sha256,
    userUid,
  }: Pick<ReceivedFile, 'size' | 'sha256'> & { uid: string; name: string; userUid: string },
): Promise<string[]> {
  const oldFiles = await trx.deleteFrom('uploaded_files').where('pipeline_id', '=', pipeline).returning('uid').execute()
  await trx
    .insertInto('uploaded_files')
    .values({ uid, pipeline_id: pipeline, name, size, sha256, uploaded_by: userUid })
    .execute()
  return oldFiles.map((oldFile) => oldFile.uid)
}

/**
 * Queues a run that loads the pipeline's file. Returns the uid of the run. Throws 409 if another load is queued or
 * running.
 */
export async function startLoad(
  trx: Transaction<DB>,
  pipeline: number,
  { queue, caller }: Pick<RequestContext, 'queue' | 'caller'>,
  { rebuild = false } = {},
): Promise<string> {
  const runnable = { id: pipeline, client: catalogueClient, kind: 'DATA_PIPELINE' } as const
  const { run, existing } = await startRun(trx, queue, runnable, {
    trigger: 'MANUAL',
    mode: 'FULL',
    createdBy: caller.uid,
    rebuild,
  })
  // The queued or running load would use the previous file.
  if (existing) throw problems.conflict('/', 'The public dataset is being loaded. Wait for the end of the load.')
  return run.uid
}

/** Takes a lock, so that only one transaction at a time creates, replaces or deletes the dataset with this key. */
export const lockKey = (trx: Transaction<DB>, key: string) =>
  sql`select pg_advisory_xact_lock(hashtext(${`public dataset ${key}`}))`.execute(trx)
