import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { pipelineOperations, type ResumableUpload } from '@sluice/contracts'
import { JsonResponse, type OperationInput } from '@sluice/http-server'
import { dataPipelines, type DataPipelineRow } from '../data-pipelines/records.ts'
import { readUploadTarget } from '../data-pipelines/upload.ts'
import { type PipelineContext, type RequestContext, definePipelineOperation } from '../operation-context.ts'
import { lookUpUsernames } from '../record-fields.ts'
import { runInUploadSlot } from '../receive-upload.ts'
import { discardUpload, finishUpload, removeUpload } from './finish-or-discard-upload.ts'
import { handleTusRequest } from './tus-request.ts'
import { assertAppendable, assertTusVersion, parseFileName, parseUploadLength, tusVersion } from './upload-headers.ts'
import { UploadLease } from './upload-lease.ts'
import { type UploadRow, expiresAt, insertUpload, listUploads, presentUpload, readUpload } from './upload-records.ts'
import { UploadStore } from './upload-store.ts'

type UploadRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/uploads/:upload', undefined, undefined>
type CreateRequest = OperationInput<PipelineContext, '/data-pipelines/:uid/uploads', undefined, undefined>

/** Creates an upload without bytes. The caller sends the bytes with PATCH requests. */
async function createUpload(input: CreateRequest): Promise<JsonResponse<ResumableUpload>> {
  const { db, caller, params, request, files } = input
  const { headers } = request.stream
  const { pipeline, defaultName } = await readUploadTarget(input, params.uid)
  assertTusVersion(headers)
  const length = parseUploadLength(headers, files.uploadLimit)
  const metadata = headers['upload-metadata']?.toString()
  const name = parseFileName(metadata) ?? defaultName
  const uid = randomUUID()
  // The library @tus/server calls `create` before `read` and before it responds.
  let created: UploadRow | undefined
  const read = async () => created!
  const create = async () => {
    const upload = { uid, pipeline_id: pipeline.id, name, metadata: metadata ?? null, length }
    created = await insertUpload(input, upload, async (trx) => {
      await dataPipelines.lock(trx, caller, params.uid, request.ifMatch)
      request.audit(params.uid, { upload: { uid, name, length } })
    })
    return created
  }
  const tusHeaders = await handleTusRequest(
    {
      method: 'POST',
      path: buildUploadsPath(pipeline),
      uid,
      headers: pick(headers, 'upload-length', 'upload-metadata'),
    },
    {
      store: new UploadStore({ ...createStoreOptions(input, new UploadLease(db, uid), read), create }),
      locker: freeLocker,
    },
  )
  return new JsonResponse(presentUpload(created!, caller.username), tusHeaders)
}

/** Appends the bytes in the body to an upload. Finishes the upload when its last byte has arrived. */
async function appendToUpload(input: UploadRequest): Promise<JsonResponse<undefined>> {
  const { request, caller } = input
  const { stream } = request
  const { pipeline, row, ...storeAndLocker } = await openUpload(input)
  assertTusVersion(stream.headers)
  assertAppendable(stream.headers)
  const tusRequest = {
    method: 'PATCH',
    path: buildUploadsPath(pipeline),
    uid: row.uid,
    headers: pick(stream.headers, 'upload-offset', 'content-type', 'content-length'),
    body: stream,
  } as const
  return runInUploadSlot(
    caller,
    stream,
    async () => new JsonResponse(undefined, await handleTusRequest(tusRequest, storeAndLocker)),
  )
}

/**
 * Returns the state of an upload. HEAD follows the tus protocol and therefore ends another request that is still
 * sending bytes; GET does not disturb other requests.
 */
async function readState(input: UploadRequest): Promise<JsonResponse<ResumableUpload>> {
  const { method, headers } = input.request.stream
  const { pipeline, row, ...storeAndLocker } = await openUpload(input)
  if (method !== 'HEAD') return new JsonResponse(presentUpload(row, input.caller.username), buildStateHeaders(row))
  assertTusVersion(headers)
  const path = buildUploadsPath(pipeline)
  const tusHeaders = await handleTusRequest({ method, path, uid: row.uid, headers: {} }, storeAndLocker)
  return new JsonResponse(presentUpload(row, input.caller.username), { ...buildStateHeaders(row), ...tusHeaders })
}

/**
 * Deletes an upload, possibly that of another user: it counts towards the limit of the organisation even after its user
 * has left.
 */
async function deleteUpload(input: UploadRequest): Promise<JsonResponse<undefined>> {
  const { pipeline, row, ...storeAndLocker } = await openUpload(input, { ofAnyUser: true })
  assertTusVersion(input.request.stream.headers)
  const path = buildUploadsPath(pipeline)
  return new JsonResponse(
    undefined,
    await handleTusRequest({ method: 'DELETE', path, uid: row.uid, headers: {} }, storeAndLocker),
  )
}

async function listPipelineUploads(input: CreateRequest): Promise<ResumableUpload[]> {
  const { pipeline } = await readUploadTarget(input, input.params.uid)
  const rows = await listUploads(input.db, pipeline.id)
  const findUsername = await lookUpUsernames(
    rows.map((row) => row.created_by),
    input.identity,
  )
  return rows.map((row) => presentUpload(row, findUsername(row.created_by)))
}

/**
 * Finds an upload to a pipeline that the caller may change; only an upload of the caller, unless `ofAnyUser` is true.
 * Returns it with the objects through which @tus/server accesses it.
 */
async function openUpload(input: UploadRequest, { ofAnyUser = false } = {}) {
  const { db, caller, params } = input
  const { pipeline } = await readUploadTarget(input, params.uid)
  const user = ofAnyUser ? undefined : caller.uid
  const read = () => readUpload(db, { uid: params.upload, pipeline: pipeline.id, user })
  const row = await read()
  const lease = new UploadLease(db, row.uid)
  return {
    pipeline,
    row,
    store: new UploadStore(createStoreOptions(input, lease, read)),
    locker: { newLock: () => lease },
  }
}

/** Returns the options of the store in which the tus library reads and writes one upload. */
const createStoreOptions = (
  input: RequestContext & { params: { uid: string } },
  lease: UploadLease,
  read: () => Promise<UploadRow>,
): ConstructorParameters<typeof UploadStore>[0] => ({
  db: input.db,
  directory: input.files.directory,
  lease,
  read,
  create: read,
  finish: (row) => finishUpload(input, row, lease),
  remove: async () => removeUpload(input, await read()),
  discard: (row) => discardUpload(input, row.uid, lease),
})

/** A lock that is always free, for creating an upload: no other request can know its id yet. */
const freeLocker = { newLock: () => ({ lock: async () => {}, unlock: async () => {} }) }

const buildUploadsPath = ({ uid }: DataPipelineRow): string => `/api/v1/data-pipelines/${uid}/uploads`

const buildStateHeaders = (row: UploadRow): Record<string, string> => ({
  'Tus-Resumable': tusVersion,
  'Upload-Offset': String(row.received),
  'Upload-Length': String(row.length),
  'Upload-Expires': expiresAt(row).toUTCString(),
  ...(row.metadata !== null && { 'Upload-Metadata': row.metadata }),
})

const pick = (headers: IncomingHttpHeaders, ...names: string[]): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, headers[name]?.toString()]))

const { resumableUploads: signatures } = pipelineOperations

export const resumableUploadOperations = {
  list: definePipelineOperation(signatures.list, listPipelineUploads),
  create: definePipelineOperation(signatures.create, createUpload),
  append: definePipelineOperation(signatures.append, appendToUpload),
  read: definePipelineOperation(signatures.read, readState),
  delete: definePipelineOperation(signatures.delete, deleteUpload),
}
