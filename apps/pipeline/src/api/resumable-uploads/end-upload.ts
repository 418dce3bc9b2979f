import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Problem, problems } from '@sluice/http-server'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { removeUnneededFiles } from '../../runs/files-in-use.ts'
import { replaceFile } from '../data-pipelines/upload.ts'
import type { RequestContext } from '../operation-context.ts'
import { hasKeptRights } from '../runs/event-streams.ts'
import type { UploadLease } from './upload-lease.ts'
import { type UploadRow, markFinished } from './upload-records.ts'

/**
 * Replaces the file of the pipeline, as a plain upload does. Throws 401 if the caller has lost their rights since the request began. A file that no setting makes readable is removed with its upload. After any other
 * error, the client can send the last byte again.
 */
export async function finishUpload(
  input: RequestContext & { params: { uid: string } },
  { uid, name, length }: UploadRow,
  lease: UploadLease,
): Promise<void> {
  const { db, files, params } = input
  if (!(await hasKeptRights(input)))
    throw problems.unauthenticated('This sign-in has ended or has lost roles during the request: sign in again.')
  // The requests of an upload may reach several processes, so no digest of the first bytes exists.
  const sha256 = await digestOf(getUploadPath(files.directory, uid))
  try {
    await replaceFile(input, params.uid, { uid, name, size: length, sha256 }, (trx, result) =>
      markFinished(trx, { uid, lease: lease.id }, result),
    )
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'source-unreadable') throw error
    await db.deleteFrom('resumable_uploads').where('uid', '=', uid).where('lease', '=', lease.id).execute()
    await removeUnneededFiles({ db, directory: files.directory }, [uid])
    throw error
  }
}

/** Removes an upload and its bytes. If it is finished, the file is the pipeline's and stays. */
export async function removeUpload(
  { db, files, write, request, params }: RequestContext & { params: { uid: string } },
  { uid, name, length, received }: UploadRow,
): Promise<void> {
  await write(async (trx) => {
    await trx.deleteFrom('resumable_uploads').where('uid', '=', uid).execute()
    request.audit(params.uid, { upload: { uid, name, length, received } })
  })
  await removeUnneededFiles({ db, directory: files.directory }, [uid])
}

/** Returns the SHA-256 of a file in hexadecimal, in constant memory. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
