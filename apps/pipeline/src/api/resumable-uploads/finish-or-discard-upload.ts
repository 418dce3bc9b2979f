import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { problems } from '@sluice/http-server'
import { getUploadPath } from '@sluice/connectors/uploaded-file/upload-path'
import { removeUnusedFiles } from '../../runs/files-in-use.ts'
import { replaceFile } from '../data-pipelines/upload.ts'
import type { RequestContext } from '../operation-context.ts'
import { hasKeptRights } from '../runs/event-stream-limits.ts'
import type { UploadLease } from './upload-lease.ts'
import { type UploadRow, markFinished, uploadBytesLost } from './upload-records.ts'

/**
 * Makes the complete upload the pipeline's file, like a plain upload. Throws 401 if the caller has lost their rights
 * since the request began, 410 if bytes of the file are missing, and 422 for a file that cannot be read with any
 * settings. After any other error, the caller can send the last byte again.
 */
export async function finishUpload(
  input: RequestContext & { params: { uid: string } },
  { uid, name, length }: UploadRow,
  lease: UploadLease,
): Promise<void> {
  if (!(await hasKeptRights(input)))
    throw problems.unauthenticated('This sign-in has ended or has lost roles during the request: sign in again.')
  // The requests of one upload may reach several processes, so the digest can be computed only at the end.
  const { sha256, size } = await hashFile(getUploadPath(input.files.directory, uid)).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? uploadBytesLost() : error
  })
  if (size !== length) throw uploadBytesLost()
  await replaceFile(input, input.params.uid, { uid, name, size, sha256 }, (trx, result) =>
    markFinished(trx, { uid, lease: lease.id }, result),
  )
}

/** Deletes an unfinished upload and its bytes, if this request still holds the upload's lease. */
export async function discardUpload({ db, files }: RequestContext, uid: string, lease: UploadLease): Promise<void> {
  await db.deleteFrom('resumable_uploads').where('uid', '=', uid).where('lease', '=', lease.id).execute()
  await removeUnusedFiles({ db, directory: files.directory }, [uid])
}

/** Deletes an upload and its bytes. If the upload is finished, its file belongs to the pipeline and stays. */
export async function removeUpload(
  { db, files, write, request, params }: RequestContext & { params: { uid: string } },
  { uid, name, length, received }: UploadRow,
): Promise<void> {
  await write(async (trx) => {
    await trx.deleteFrom('resumable_uploads').where('uid', '=', uid).execute()
    request.audit(params.uid, { upload: { uid, name, length, received } })
  })
  await removeUnusedFiles({ db, directory: files.directory }, [uid])
}

/**
 * Returns the SHA-256 (hexadecimal) and the size in bytes of a file. Reads the file in pieces, so that memory use is
 * constant.
 */
async function hashFile(path: string): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    size += chunk.length
    hash.update(chunk)
  }
  return { sha256: hash.digest('hex'), size }
}
