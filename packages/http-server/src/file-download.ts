import type { Request, Response } from 'express'
import type { Logger } from '@sluice/process'

/** The bytes of a download, which may still be arriving while a client reads them. */
export interface DownloadBytes {
  /** An id that differs for different bytes. Used as the ETag. */
  id: string
  /** Resolves to the file size when the file is complete. Rejects if it cannot be completed. */
  size(): Promise<number>
  /**
   * Yields the bytes from a position on, and waits for those that are still arriving. A chunk is valid until the next
   * one is requested. Throws if the bytes will never arrive.
   */
  read(from: number, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** A download's connection is closed after this many milliseconds without data. */
const silenceTimeoutMs = 120_000

interface DownloadOptions {
  /** Undefined for a HEAD request, because its response has only headers. */
  bytes: DownloadBytes | undefined
  mediaType: string
  /** The file name that browsers use for saving. */
  fileName: string
  /** The value of Content-Encoding. A client's Range header then counts encoded bytes. */
  encoding?: 'gzip' | undefined
  /**
   * Whether the bytes are the same as in an earlier response, so that a Range header applies. Other responses start at
   * the first byte.
   */
  isContinued: boolean
  /** Called once, when the response has ended or the client has disconnected. */
  onClose(): void
}

/**
 * A file download, as the result of a handler. A client that lost the connection of a GET request can continue it with
 * `Range` and `If-Range` (RFC 9110).
 */
export class FileDownload {
  readonly options: DownloadOptions

  constructor(options: DownloadOptions) {
    this.options = options
  }
}

/**
 * Sends a download at the client's speed. If it fails, closes the connection, so that no client treats the file as
 * complete.
 */
export async function sendDownload(
  request: Request,
  response: Response,
  { options }: FileDownload,
  { logger }: { logger: Pick<Logger, 'warn'> },
): Promise<void> {
  const disconnected = abortOnClose(request, response, options.onClose)
  try {
    response.set(downloadHeaders(options, request.method))
    await sendDownloadBody(request, response, options, disconnected)
  } catch (error) {
    if (disconnected.aborted) return void response.destroy()
    logger.warn({ err: error }, 'a download broke off')
    if (response.headersSent) return void response.destroy()
    // Nothing was sent, so the API can still respond with a problem.
    for (const name of ['Content-Disposition', 'Content-Encoding', 'ETag', 'Accept-Ranges']) response.removeHeader(name)
    throw error
  }
}

/** Returns a signal that aborts when the response ends or the client disconnects. Calls `onClose` once at that time. */
function abortOnClose(request: Request, response: Response, onClose: () => void): AbortSignal {
  const closing = new AbortController()
  const close = () => {
    if (closing.signal.aborted) return
    request.socket.off('close', close)
    closing.abort()
    onClose()
  }
  // A response that waits for another one on the same connection has no close event of its own, so the socket's event
  // is used too.
  request.socket.once('close', close)
  response.once('close', close)
  if (response.closed || request.socket.destroyed) close()
  return closing.signal
}

/** Sends the requested range of the bytes, or all of them. Sends none for a HEAD request. */
async function sendDownloadBody(
  request: Request,
  response: Response,
  { bytes, isContinued }: DownloadOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!bytes) return void response.status(200).end()
  const range = isContinued ? parseRange(request.headers.range, request.get('if-range'), etagOfBytes(bytes)) : undefined
  if (range) return sendRange(response, bytes, range, signal)
  response.status(200)
  await sendBytes(response, bytes.read(0, signal), signal)
}

const etagOfBytes = ({ id }: DownloadBytes): string => `"${id}"`

/** Returns the headers of a download. A compressed or POST download cannot be continued, so it accepts no ranges. */
const downloadHeaders = (
  { bytes, mediaType, fileName, encoding }: DownloadOptions,
  method: string,
): Record<string, string> => ({
  'Content-Type': mediaType,
  'Content-Disposition': contentDisposition(fileName),
  ...(bytes && { ETag: etagOfBytes(bytes) }),
  'Accept-Ranges': encoding || method === 'POST' ? 'none' : 'bytes',
  // Forbids proxies to store the whole file before they send it.
  'X-Accel-Buffering': 'no',
  'Cache-Control': 'private, no-cache',
  Vary: 'Accept, Accept-Encoding',
  ...(encoding && { 'Content-Encoding': encoding }),
})

/** The first and last position of a byte range, both inclusive. */
interface ByteRange {
  first: number
  last: number
}

/** Sends a range of bytes with status 206, or 416 if the range starts after the last byte. */
async function sendRange(
  response: Response,
  bytes: DownloadBytes,
  range: ByteRange,
  signal: AbortSignal,
): Promise<void> {
  const size = await bytes.size()
  const last = Math.min(range.last, size - 1)
  if (range.first > last) {
    response.status(416).set('Content-Range', `bytes */${size}`).removeHeader('Content-Encoding')
    response.end()
    return
  }
  const length = last - range.first + 1
  response.status(206).set({
    'Content-Range': `bytes ${range.first}-${last}/${size}`,
    'Content-Length': String(length),
  })
  await sendBytes(response, bytes.read(range.first, signal), signal, length)
}

/** Sends at most `limit` bytes and ends the response. Waits for the client before it reads the next chunk. */
async function sendBytes(
  response: Response,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  response.req.socket.setTimeout(silenceTimeoutMs)
  let bytesLeft = limit
  for await (const chunk of chunks) {
    const part = chunk.length > bytesLeft ? chunk.subarray(0, bytesLeft) : chunk
    bytesLeft -= part.length
    await writeAll(response, part, signal)
    if (bytesLeft === 0) break
  }
  response.end()
}

/** Writes bytes to a response. Resolves when the operating system has the bytes, so that their memory can be reused. */
function writeAll(response: Response, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    response.write(bytes, (error) => {
      signal.removeEventListener('abort', abort)
      if (error) reject(error)
      else resolve()
    })
  })
}

/**
 * Parses a Range header with a single range, such as `bytes=100-`. Returns undefined for any other Range header, which
 * a server may ignore (RFC 9110).
 */
function parseRange(header: string | undefined, ifRange: string | undefined, etag: string): ByteRange | undefined {
  const [, first, last = ''] = /^\s*bytes\s*=\s*(\d{1,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? []
  const isOfOtherBytes = ifRange !== undefined && ifRange.trim() !== etag
  if (first === undefined || isOfOtherBytes) return undefined
  return { first: Number(first), last: last === '' ? Number.POSITIVE_INFINITY : Number(last) }
}

/** Returns the header value with the file name in ASCII and, if that is not exact, also as UTF-8 (RFC 6266). */
function contentDisposition(fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${ascii}"${ascii === fileName ? '' : `; filename*=UTF-8''${encoded}`}`
}
