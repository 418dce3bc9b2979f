import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { type Caller, Problem, problems } from '@sluice/http-server'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { removeUnusedFiles } from '../runs/files-in-use.ts'
import { decodeBody, findBodyEncoding } from '../files/decode-content-encoding.ts'
import { receiveFile, type ReceivedFile } from '../files/receive-file.ts'
import { watchConnection } from './abort-on-disconnect.ts'
import { QuotaReservation } from './files-quota.ts'
import type { RequestContext } from './operation-context.ts'
import { requestSlots } from './concurrency-limits.ts'

/** A received file to which no database row refers yet. */
export interface StoredUpload extends Omit<ReceivedFile, 'discard'> {
  /**
   * Releases the quota reservation. Call it after the row in `uploaded_files` exists, because that row counts the file
   * from then on.
   */
  release(): Promise<void>
  /**
   * Releases the quota reservation after the request failed with `error`, and removes the file unless a database row
   * refers to it.
   */
  discard(error: unknown): Promise<void>
}

/**
 * Writes an upload to disk, decompressed, in an upload slot of its organisation. The service does not read the body
 * while it waits for the slot. If the body is a form, `stream` is the file in it. Throws 422 if the organisation's
 * files have reached their limit.
 */
export async function receiveUpload(
  { db, caller, request, files }: Pick<RequestContext, 'db' | 'caller' | 'request' | 'files'>,
  uid: string,
  stream: Readable = request.stream,
): Promise<StoredUpload> {
  const quota = new QuotaReservation(db, { uid, client: caller.client, limit: files.clientLimit })
  const receive = async () => {
    const { headers } = request.stream
    const encoding = findBodyEncoding(headers)
    const announcedBytes = Number(headers['content-length'] ?? 0)
    await quota.reserve(announcedBytes)
    // Do not destroy the stream on an error, because that would close the connection before the response with the
    // reason is sent.
    const bodyChunks: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false })
    const limits = { ...defaultUploadLimits, receivedBytes: files.uploadLimit }
    const fileChunks = encoding ? decodeBody(bodyChunks, encoding, limits) : bodyChunks
    // A body cannot be longer than its Content-Length, but the decoded file can.
    const isWholeFileReserved = announcedBytes > 0 && !encoding
    return receiveFile(isWholeFileReserved ? fileChunks : reserveWhileReading(fileChunks, quota), files, uid)
  }
  try {
    const { size, sha256 } = await runInUploadSlot(caller, request.stream, receive)
    return {
      size,
      sha256,
      release: () => quota.release(),
      async discard(error) {
        await quota.release()
        // After any other error, the transaction may have been committed. A maintenance job removes the file later if
        // no row refers to it.
        if (error instanceof Problem) await removeUnusedFiles({ db, directory: files.directory }, [uid])
      },
    }
  } catch (error) {
    await quota.release()
    throw error
  }
}

/**
 * Runs `callback` in an upload slot of the caller's organisation. Stops waiting for the slot if the caller disconnects.
 * Disables the server's idle timeout after the body has arrived, because writing a large file durably to disk can take
 * longer, and no byte is sent in that time.
 */
export async function runInUploadSlot<T>(
  { client }: Pick<Caller, 'client'>,
  body: IncomingMessage,
  callback: () => Promise<T>,
): Promise<T> {
  const { socket } = body
  const idleTimeoutMs = socket.timeout ?? 0
  const disableIdleTimeout = () => socket.setTimeout(0)
  body.once('end', disableIdleTimeout)
  using connection = watchConnection(socket)
  try {
    return await requestSlots.uploads.run(client, callback, { signal: connection.closed })
  } finally {
    body.off('end', disableIdleTimeout)
    socket.setTimeout(idleTimeoutMs)
  }
}

/** The number of bytes after which the reservation is increased. */
const reservationStepBytes = 16 * 1024 * 1024

/**
 * Yields the chunks of a body of unknown size, and reserves quota for their bytes. The last reservation covers the
 * whole body, so that concurrent uploads together cannot exceed the limit.
 */
async function* reserveWhileReading(chunks: AsyncIterable<Buffer>, quota: QuotaReservation): AsyncGenerator<Buffer> {
  let received = 0
  let nextReservationAt = 0
  for await (const chunk of chunks) {
    received += chunk.length
    if (received >= nextReservationAt) {
      await quota.reserve(received)
      nextReservationAt = received + reservationStepBytes
    }
    yield chunk
  }
  await quota.reserve(received)
}

/**
 * Checks the headers of an upload. Throws 413 for a body that is too large, and 415 for a body that is not a file or
 * has an unknown encoding.
 */
export function assertFileHeaders(headers: IncomingHttpHeaders, limit: number): void {
  if (Number(headers['content-length'] ?? 0) > limit) throw problems.tooLarge(limit)
  assertBinaryBody(headers)
  findBodyEncoding(headers)
}

/** Throws 415 if the body is JSON or a form instead of a file. */
export function assertBinaryBody(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'] ?? 'text/csv'
  if (/^(application\/json|multipart\/)/i.test(type)) {
    throw problems.unsupportedMediaType(
      'application/octet-stream: the body is the file itself, for example with curl --data-binary @file.csv',
    )
  }
}

/** Throws 415 for a compressed body. Used by operations that accept only uncompressed bodies. */
export function assertPlainEncoding({ 'content-encoding': encoding = 'identity' }: IncomingHttpHeaders): void {
  if (encoding.trim().toLowerCase() !== 'identity')
    throw problems.unsupportedMediaType('plain bytes, without Content-Encoding')
}
