import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type PublicDataset,
  type PublicDatasetBody,
  type PublicDatasetFileQuery,
  type PublicDatasetForm,
  type PublicDatasetUploadQuery,
  pipelineOperations,
} from '@sluice/contracts'
import { JsonResponse, type Caller, type OperationInput, Problem, problems, readForm } from '@sluice/http-server'
import { visibleTo, redactSecrets } from '@sluice/records'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { type StoredUpload, assertFileHeaders, assertPlainEncoding, receiveUpload } from '../receive-upload.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { insertPipeline, lockKey, replaceFile, setHeaderRow, startLoad } from './dataset-pipeline.ts'
import { type PublicDatasetRow, answerDataset, publicDatasets, readDatasetUid } from './records.ts'
import { type LinkedFiles, dataPipelineWriting } from '../data-pipelines/write.ts'
import type { DataPipelineRow } from '../data-pipelines/records.ts'
import { removeUnusedFiles } from '../../runs/files-in-use.ts'
import { hasActiveRun } from '../../runs/read-runs.ts'
import { readUploadRows } from '../data-pipelines/check-upload.ts'

type CreateRequest = OperationInput<PipelineContext, '/public-datasets', PublicDatasetUploadQuery, undefined>

const { form: formContract } = pipelineOperations.publicDatasets.create

/**
 * Creates a dataset from a form: reads the fields, writes the file to disk while it arrives, and queues a load. If the
 * load fails, deletes the dataset.
 */
export async function createDataset(input: CreateRequest): Promise<JsonResponse<PublicDataset>> {
  const { request, query } = input
  assertPlainEncoding(request.stream.headers)
  const form = await readForm<PublicDatasetForm>(request.stream, formContract!)
  const created = await receiveDataset(input, form)
  await waitForLoadOrDelete(input, created, query.wait)
  const { body, headers } = await answerDataset(created.row, input)
  return new JsonResponse(body, { ...headers, Location: `/api/v1/public-datasets/${created.row.key}` })
}

interface CreatedDataset {
  row: PublicDatasetRow
  /** The uid of the run that loads the file. */
  run: string
}

type ReceivedForm = Awaited<ReturnType<typeof readForm<PublicDatasetForm>>>

/** Writes the file of a form to disk and stores the dataset. If one of them fails, removes the file. */
async function receiveDataset(input: CreateRequest, { fields, file, ...form }: ReceivedForm): Promise<CreatedDataset> {
  const uid = randomUUID()
  let received: StoredUpload | undefined
  try {
    // Check the key before the file arrives, because the file may be gigabytes.
    await assertKeyFree(input.db, fields.key)
    received = await receiveUpload(input, uid, file.stream)
    await form.waitForEnd()
    const { size, sha256 } = received
    if (size === 0) throw problems.refused('/file', 'The file is empty.')
    const created = await storeDataset(input, fields, { uid, name: file.name, size, sha256 })
    await received.release()
    return created
  } catch (error) {
    form.abandon()
    await received?.discard(error)
    throw error
  }
}

/** Stores a dataset with its file, and queues its load. */
const storeDataset = (
  input: CreateRequest,
  fields: PublicDatasetForm,
  file: { uid: string; name?: string | undefined; size: number; sha256: string },
): Promise<CreatedDataset> =>
  input.write(async (trx) => {
    const row = await insertDataset(trx, fields, input)
    await replaceFile(trx, row.pipeline_id, { ...file, name: file.name ?? fields.key, userUid: input.caller.uid })
    input.request.audit(row.uid, { after: redactSecrets(row), file })
    return { row, run: await startLoad(trx, row.pipeline_id, input) }
  })

/** Throws 409 if another dataset has the key. */
async function assertKeyFree(db: Kysely<DB>, key: string): Promise<void> {
  const existing = await db.selectFrom('public_datasets').select('id').where('key', '=', key).executeTakeFirst()
  if (existing) throw keyTakenProblem()
}

/** Inserts a dataset and the pipeline that loads it. Throws 409 if another dataset has the key. */
async function insertDataset(
  trx: Transaction<DB>,
  { key, tags = '', headerRow = 'true', termsOfUse, ...fields }: PublicDatasetForm,
  { caller }: Pick<CreateRequest, 'caller'>,
): Promise<PublicDatasetRow> {
  await lockKey(trx, key)
  await assertKeyFree(trx, key)
  const tagNames = tags.split(',').map((tag) => tag.trim())
  return publicDatasets.insert(trx, caller, {
    ...fields,
    key,
    client: caller.client,
    terms_of_use: termsOfUse ?? null,
    tags: JSON.stringify([...new Set(tagNames.filter((tag) => tag !== ''))].map(parseTag)),
    header_row: headerRow === 'true',
    pipeline_id: await insertPipeline(trx, { key, headerRow: headerRow === 'true' }),
  })
}

/** Validates a tag. The contract has the same rules but cannot check forms. */
function parseTag(tag: string, index: number): string {
  if (index >= 50 || tag.length > 100 || /\p{Cc}/u.test(tag))
    throw problems.malformed([
      { pointer: '/tags', detail: 'must be at most 50 tags, each with at most 100 characters and without line breaks' },
    ])
  return tag
}

/**
 * Waits for the load of a new dataset. If the load fails, deletes the dataset, which no pipeline can use yet, and
 * throws 422.
 */
async function waitForLoadOrDelete(input: CreateRequest, { row, run }: CreatedDataset, seconds?: number) {
  try {
    await waitForLoad(input, run, seconds)
  } catch (error) {
    if (error instanceof Problem) await deleteDataset(input, row.key)
    throw error
  }
}

const keyTakenProblem = () => problems.conflict('/key', 'Another public dataset has this key. Choose another key.')

/** Deletes a dataset that no pipeline uses, together with its pipeline and rows. */
export async function deleteDataset(input: RequestContext, key: string): Promise<void> {
  const { caller, write, request } = input
  const { pipeline, linkedFiles } = await write(async (trx) => {
    await lockKey(trx, key)
    const row = await publicDatasets.lock(trx, caller, await readDatasetUid(trx, key), request.ifMatch)
    await assertDatasetUnused(trx, key, caller)
    await publicDatasets.remove(trx, row)
    const removed = await removePipeline(trx, row.pipeline_id, input)
    request.audit(row.uid, { before: redactSecrets(row) })
    return removed
  })
  await dataPipelineWriting.afterDelete(pipeline, input, linkedFiles)
}

/**
 * Throws 409 if pipelines load the dataset. The message names up to five pipelines that the caller may see, and counts
 * the others.
 */
async function assertDatasetUnused(trx: Transaction<DB>, key: string, caller: Caller): Promise<void> {
  const { rows } = await sql<{ name: string; isVisible: boolean }>`
    select r.name, coalesce(${visibleTo(caller, 'READ')}, false) as "isVisible" from data_pipelines r
    where r.type = 'PUBLIC_DATASET' and r.settings ->> 'key' = ${key} order by r.name`.execute(trx)
  if (rows.length === 0) return
  const visibleNames = rows.filter(({ isVisible }) => isVisible).map(({ name }) => `"${name}"`)
  const shownNames = visibleNames.slice(0, 5)
  const otherCount = rows.length - shownNames.length
  const otherText = `${otherCount} ${shownNames.length > 0 ? 'more' : 'that you may not see'}`
  const pipelines = [...shownNames, ...(otherCount > 0 ? [otherText] : [])].join(', ')
  throw problems.conflict('/', `Data pipelines load this public dataset: ${pipelines}. Delete these pipelines first.`)
}

/** Deletes the pipeline of a dataset. Throws 409 if a load is queued or running. */
async function removePipeline(
  trx: Transaction<DB>,
  id: number,
  input: RequestContext,
): Promise<{ pipeline: DataPipelineRow; linkedFiles: LinkedFiles }> {
  if (await hasActiveRun(trx, id))
    throw problems.conflict('/', 'The public dataset is being loaded. Wait for the end of the load.')
  const pipeline = await trx
    .selectFrom('data_pipelines')
    .selectAll()
    .where('id', '=', id)
    .$castTo<DataPipelineRow>()
    .executeTakeFirstOrThrow()
  const linkedFiles = await dataPipelineWriting.beforeDelete(trx, pipeline, input)
  await trx.deleteFrom('data_pipelines').where('id', '=', id).execute()
  return { pipeline, linkedFiles }
}

type UpdateRequest = OperationInput<PipelineContext, '/public-datasets/:key', undefined, PublicDatasetBody>

/** Updates the metadata of a dataset. Loads the file again only if `headerRow` changes. */
export async function updateDataset(input: UpdateRequest): Promise<JsonResponse<PublicDataset>> {
  const { caller, params, body, write, request } = input
  if (body.key !== params.key)
    throw problems.refused('/key', `The key ${params.key} cannot be changed. Upload another dataset instead.`)
  const row = await write(async (trx) => {
    await lockKey(trx, params.key)
    const before = await publicDatasets.lock(trx, caller, await readDatasetUid(trx, params.key), request.ifMatch)
    const { headerRow = before.header_row } = body
    const after = await publicDatasets.update(trx, caller, before, {
      name: body.name,
      description: body.description ?? null,
      owner: body.owner ?? null,
      reference: body.reference ?? null,
      source: body.source ?? null,
      terms_of_use: body.termsOfUse ?? null,
      tags: JSON.stringify(body.tags ?? []),
      header_row: headerRow,
    })
    if (headerRow !== before.header_row) {
      await setHeaderRow(trx, before.pipeline_id, headerRow)
      await startLoad(trx, before.pipeline_id, input)
    }
    request.audit(after.uid, { before: redactSecrets(before), after: redactSecrets(after) })
    return after
  })
  return answerDataset(row, input)
}

type ReplaceRowsRequest = OperationInput<
  PipelineContext,
  '/public-datasets/:key/file',
  PublicDatasetFileQuery,
  undefined
>

/** Writes a new file to disk while it arrives, and queues its load. The old rows stay until the load succeeds. */
export async function replaceRows(input: ReplaceRowsRequest): Promise<JsonResponse<PublicDataset>> {
  const { db, caller, params, query, request, files, write } = input
  const { key } = params
  const readDatasetToWrite = async () =>
    publicDatasets.readToWrite(db, caller, await readDatasetUid(db, key), request.ifMatch)
  // Check permissions before the body arrives, because it may be gigabytes.
  await readDatasetToWrite()
  assertFileHeaders(request.stream.headers, files.uploadLimit)

  const uid = randomUUID()
  const { size, sha256, release, discard } = await receiveUpload(input, uid)
  const name = query.name ?? key
  try {
    if (size === 0) throw problems.refused('/', 'The file is empty.')
    // Read the dataset again, because its settings may have changed while the body arrived.
    const { header_row: headerRow } = await readDatasetToWrite()
    const source = { type: 'CSV_UPLOAD', settings: { csvOptions: { headerRow } } }
    // Throws 422 if the file cannot be read with any settings. The rows are not used.
    await readUploadRows(input, source, { uid, name }, { rows: 1 })
    const { row, run, replacedUids } = await write(async (trx) => {
      await lockKey(trx, key)
      const before = await publicDatasets.lock(trx, caller, await readDatasetUid(trx, key), request.ifMatch)
      const oldUids = await replaceFile(trx, before.pipeline_id, { uid, name, size, sha256, userUid: caller.uid })
      const after = await publicDatasets.update(trx, caller, before, {})
      request.audit(after.uid, { file: { uid, name, size, sha256 } })
      return { row: after, run: await startLoad(trx, before.pipeline_id, input, query), replacedUids: oldUids }
    })
    await release()
    await removeUnusedFiles({ db, directory: files.directory }, replacedUids)
    await waitForLoad(input, run, query.wait)
    return await answerDataset(row, input)
  } catch (error) {
    await discard(error)
    throw error
  }
}

const loadPollMs = 150
const defaultWaitSeconds = 30

/**
 * Waits until a run has ended, at most `seconds`, and stops when the caller disconnects. Also returns if the run is
 * still running after that time. Throws 422 if the run failed or was cancelled.
 */
async function waitForLoad(
  { db, request }: Pick<RequestContext, 'db' | 'request'>,
  run: string,
  seconds: number = defaultWaitSeconds,
): Promise<void> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const { state, message } = await db
      .selectFrom('runs')
      .select(['state', 'message'])
      .where('uid', '=', run)
      .executeTakeFirstOrThrow()
    if (state === 'OK' || state === 'WARNING') return
    if (state === 'FAILED' || state === 'CANCELLED') throw datasetNotLoaded(message)
    if (Date.now() >= deadline || request.stream.socket.destroyed) return
    await sleep(loadPollMs)
  }
}

const datasetNotLoaded = (message: string | null) =>
  new Problem(422, 'dataset-not-loaded', 'The file of the public dataset cannot be loaded.', {
    detail: message === null ? 'The load of the file was cancelled. Upload the file again.' : message,
  })
