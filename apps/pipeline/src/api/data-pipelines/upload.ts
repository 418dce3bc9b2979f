import { randomUUID } from 'node:crypto'
import { type PipelineType, type UploadQuery, type UploadedFile, connectorNames } from '@sluice/contracts'
import { type OperationInput, problems } from '@sluice/http-server'
import { removeUnneededFiles } from '../../runs/files-in-use.ts'
import { assertFileHeaders, receiveUpload } from '../receive-upload.ts'
import type { PipelineContext } from '../operation-context.ts'
import { checkUpload } from './check-upload.ts'
import { dataPipelines, presentFile } from './records.ts'
import { getDefinition } from '@sluice/connectors/registry/connector-definitions'

/** Streams the body to disk, checks its start, then makes it the pipeline's file. Runs read either the whole old file or the whole new one. */
export async function uploadFile(
  input: OperationInput<PipelineContext, '/data-pipelines/:uid/file', UploadQuery, undefined>,
): Promise<UploadedFile> {
  const { db, caller, params, query, request, files, write } = input
  // Check permissions before receiving the body; it may be gigabytes.
  const pipeline = await dataPipelines.readToWrite(db, caller, params.uid, request.ifMatch)
  const { id, type } = pipeline
  const { upload } = getDefinition(type)
  if (!upload)
    throw problems.refused(
      '/',
      `A pipeline of type ${type} reads from ${connectorNames[type as PipelineType]} and accepts no file. Upload the file to a pipeline of type CSV_UPLOAD or PARQUET_UPLOAD.`,
    )
  assertFileHeaders(request.stream.headers, files.uploadLimit)

  const uid = randomUUID()
  const { size, sha256, release, discard } = await receiveUpload(input, uid)
  let replaced: string[] = []
  try {
    if (size === 0) throw problems.refused('/', 'The file is empty.')
    const name = query.name ?? upload.name
    // The settings may have changed while the body was received.
    const current = await dataPipelines.readToWrite(db, caller, params.uid, request.ifMatch)
    const check = await checkUpload(input, current, { uid, name })
    const file = await write(async (trx) => {
      await dataPipelines.lock(trx, caller, params.uid, request.ifMatch)
      const old = await trx.deleteFrom('uploaded_files').where('pipeline_id', '=', id).returning('uid').execute()
      replaced = old.map((one) => one.uid)
      request.audit(params.uid, { file: { uid, name, size, sha256 } })
      return trx
        .insertInto('uploaded_files')
        .values({ uid, pipeline_id: id, name, size, sha256, uploaded_by: caller.uid })
        .returningAll()
        .executeTakeFirstOrThrow()
    })
    await release()
    await removeUnneededFiles({ db, directory: files.directory }, replaced)
    return { ...presentFile(file, caller.username), ...check }
  } catch (error) {
    await discard(error)
    throw error
  }
}
