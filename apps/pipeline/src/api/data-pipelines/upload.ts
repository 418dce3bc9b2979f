import { randomUUID } from 'node:crypto'
import { type PipelineType, type UploadQuery, type UploadedFile, connectorNames } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { removeUnusedFiles } from '../../runs/files-in-use.ts'
import { assertFileHeaders, receiveUpload } from '../receive-upload.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { checkUpload } from './check-upload.ts'
import { type DataPipelineRow, dataPipelines, presentFile } from './records.ts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'

/**
 * Writes the body to disk while it arrives, checks its start, then makes it the pipeline's file. A run reads either the
 * whole old file or the whole new file.
 */
export async function uploadFile(
  input: OperationInput<PipelineContext, '/data-pipelines/:uid/file', UploadQuery, undefined>,
): Promise<UploadedFile> {
  const { params, query, request, files } = input
  // Check permissions before the body arrives, because it may be gigabytes.
  const { defaultName } = await readUploadTarget(input, params.uid)
  assertFileHeaders(request.stream.headers, files.uploadLimit)

  const uid = randomUUID()
  const { size, sha256, release, discard } = await receiveUpload(input, uid)
  try {
    if (size === 0) throw problems.refused('/', 'The file is empty.')
    const file = await replaceFile(input, params.uid, { uid, name: query.name ?? defaultName, size, sha256 })
    await release()
    return file
  } catch (error) {
    await discard(error)
    throw error
  }
}

/**
 * Returns a pipeline that the caller may change, and the default name of its file. Throws 422 if the pipeline does not
 * load files.
 */
export async function readUploadTarget(
  { db, caller, request }: RequestContext,
  pipelineUid: string,
): Promise<{ pipeline: DataPipelineRow; defaultName: string }> {
  const pipeline = await dataPipelines.readToWrite(db, caller, pipelineUid, request.ifMatch)
  const { type } = pipeline
  const { upload } = getDefinition(type)
  if (!upload)
    throw problems.refused(
      '/',
      `A pipeline of type ${type} reads from ${connectorNames[type as PipelineType]} and accepts no file. Upload the file to a pipeline of type CSV_UPLOAD or PARQUET_UPLOAD.`,
    )
  return { pipeline, defaultName: upload.name }
}

/** A completely received file in the upload directory, to which no database row refers yet. */
interface CompleteFile {
  uid: string
  name: string
  size: number
  sha256: string
}

/**
 * Checks a received file, makes it the pipeline's file and removes the old file. Calls `onReplaced` in the same
 * transaction. Throws 422 for a file that cannot be read with any settings; the previous file then stays.
 */
export async function replaceFile(
  input: RequestContext,
  pipelineUid: string,
  { uid, name, size, sha256 }: CompleteFile,
  onReplaced: (trx: Transaction<DB>, file: UploadedFile) => Promise<void> = async () => {},
): Promise<UploadedFile> {
  const { db, caller, request, files, write } = input
  // Read the pipeline again, because its settings may have changed while the body arrived.
  const current = await dataPipelines.readToWrite(db, caller, pipelineUid, request.ifMatch)
  const check = await checkUpload(input, current, { uid, name, sha256 })
  const { file, replacedUids } = await write(async (trx) => {
    const { id } = await dataPipelines.lock(trx, caller, pipelineUid, request.ifMatch)
    const oldFiles = await trx.deleteFrom('uploaded_files').where('pipeline_id', '=', id).returning('uid').execute()
    request.audit(pipelineUid, { file: { uid, name, size, sha256 } })
    const stored = await trx
      .insertInto('uploaded_files')
      .values({ uid, pipeline_id: id, name, size, sha256, uploaded_by: caller.uid })
      .returningAll()
      .executeTakeFirstOrThrow()
    const file = { ...presentFile(stored, caller.username), ...check }
    await onReplaced(trx, file)
    return { file, replacedUids: oldFiles.map((oldFile) => oldFile.uid) }
  })
  await removeUnusedFiles({ db, directory: files.directory }, replacedUids)
  return file
}
