import { TransientError, parseRetryAfter } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import type { StoreResponse } from './store-client.ts'
import { childOf, parseXml, textOf } from './xml.ts'

export interface StoredObject {
  key: string
  /** Stored size in bytes. */
  size: number
  /** The store's version mark of the object's content, as in the header; it may only be compared for equality. */
  etag: string
  lastModified: Date
}

/** A response with bytes of an object. */
export interface ObjectBytes {
  /** The offset of the first byte: the requested one, or 0 if the store returns whole objects only. */
  from: number
  /** Whether the response had a content encoding and was decompressed: then it is the whole object, of unknown length. */
  unpacked: boolean
  chunks: AsyncIterable<Uint8Array>
  /** Cancels an unread response. */
  cancel(): Promise<void>
}

/**
 * A bucket or container. All operations throw `SourceProblem` for problems that a user can fix, `TransientError` for
 * problems that may pass, or the signal's reason.
 */
export interface ObjectStore extends AsyncDisposable {
  host: string
  /** Finds an object by its key. Throws if it does not exist. */
  find(key: string, signal: AbortSignal): Promise<StoredObject>
  /** Lists one page of the objects whose keys start with `prefix`, in the order of the store. */
  list(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  /** Returns the bytes from `from` up to `to`, of exactly this version of the object. */
  open(object: StoredObject, from: number, to: number, signal: AbortSignal): Promise<ObjectBytes>
}

export interface ListedPage {
  objects: StoredObject[]
  /** The token of the next page; undefined after the last page. */
  next: string | undefined
}

export interface StoreRequest {
  /** Absent: the bucket or container itself. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  /** Statuses besides success that are returned to the caller. */
  expected?: readonly number[]
}

interface StoreProtocol {
  host: string
  /** Sends an authenticated request. Throws a problem for each status from 300 that is not expected. */
  get(request: StoreRequest, signal: AbortSignal): Promise<StoreResponse>
  list(prefix: string, next: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  close(): PromiseLike<void>
}

export function objectStore({ host, get, list, close }: StoreProtocol): ObjectStore {
  return {
    host,
    list,

    async find(key, signal) {
      // A HEAD would return the same headers, but not the reason of a refusal.
      const response = await get({ key, headers: { range: 'bytes=0-0' }, expected: [416] }, signal)
      await response.cancel()
      if (response.status !== 416) return describedBy(key, response)
      const empty = await get({ key }, signal)
      await empty.cancel()
      return describedBy(key, empty)
    },

    async open(object, from, to, signal) {
      const { key, etag } = object
      const response = await get({ key, headers: rangeHeaders(etag, from, to), expected: [412] }, signal)
      return rangeOf(response, object, from)
    },

    [Symbol.asyncDispose]: close,
  }
}

/** Encodes a key for the path of a URL. Throws KEY_NOT_READABLE if no URL can express the key. */
export function encodeKey(key: string): string {
  const parts = key.split('/')
  if (parts.some((part) => part === '.' || part === '..')) {
    const text = `The key ${key} has a folder called "." or "..", which no address can name. Copy the object to another key.`
    throw new SourceProblem('KEY_NOT_READABLE', text)
  }
  return parts.map(encodePart).join('/')
}

const encodePart = (part: string): string =>
  encodeURIComponent(part.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Returns the headers that request a part of exactly this version. */
const rangeHeaders = (etag: string, from: number, to: number): Record<string, string> => ({
  range: `bytes=${from}-${to - 1}`,
  ...(isStrong(etag) && { 'if-match': etag }),
})

/** Some stores mark ETags as weak if they may compress the response; weak ETags never match. */
const isStrong = (etag: string): boolean => etag.startsWith('"')

/** Returns the bytes of a range response, which has a success status or 412. Throws OBJECT_CHANGED if the bytes are of another version. */
async function rangeOf(
  { status, headers, chunks, cancel }: StoreResponse,
  { key, etag }: StoredObject,
  from: number,
): Promise<ObjectBytes> {
  const now = headers.get('etag')
  const isOther = now !== null && etag !== '' && plain(now) !== plain(etag)
  if (status >= 300 || isOther) {
    await cancel()
    throw objectChangedProblem(key)
  }
  // The client has already decompressed the body, so offsets in it are meaningless.
  const unpacked = (headers.get('content-encoding') ?? '')
    .split(',')
    .some((coding) => ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(coding.trim().toLowerCase()))
  return { from: status === 206 ? from : 0, unpacked, chunks, cancel }
}

const objectChangedProblem = (key: string): SourceProblem =>
  new SourceProblem('OBJECT_CHANGED', `"${key}" changed while it was being read. The old data stays; run again.`)

/** Returns the ETag without the weakness mark, and without the quotes that some lists omit. */
const plain = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '')

/** Describes an object by the headers of a range response. Throws OTHER_PROTOCOL. */
function describedBy(key: string, { status, headers }: StoreResponse): StoredObject {
  const total =
    status === 206 ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  if (!/^\d+$/.test(total ?? '')) {
    const text = `The store does not state the size of "${key}", so it cannot be read.`
    throw new SourceProblem('OTHER_PROTOCOL', text)
  }
  return {
    key,
    size: Number(total),
    etag: headers.get('etag') ?? '',
    lastModified: momentOf(headers.get('last-modified') ?? ''),
  }
}

/** Parses the length of a list entry; an invalid length is 0, and the object is skipped. */
export const lengthOf = (text: string): number => (/^\d{1,18}$/.test(text) ? Number(text) : 0)

/** Parses a timestamp; 1970 if it is invalid. */
export function momentOf(text: string): Date {
  const milliseconds = Date.parse(text)
  return new Date(Number.isNaN(milliseconds) ? 0 : milliseconds)
}

export interface StoreErrorResponse {
  status: number
  /** Such as `NoSuchKey`; empty if the response has none. */
  code: string
  words: string
  /** The region of the bucket, if the request went to another region. */
  region: string | undefined
  headers: Headers
}

const retryableStatuses = new Set([408, 425, 429, 500, 502, 503, 504])
const retryableCodes = new Set([
  'SlowDown',
  'RequestTimeout',
  'InternalError',
  'ServiceUnavailable',
  'OperationAborted',
  'ServerBusy',
  'OperationTimedOut',
])

export function parseErrorResponse(status: number, headers: Headers, body: string, host: string): StoreErrorResponse {
  const region = headers.get('x-amz-bucket-region') ?? undefined
  const plain = { status, code: headers.get('x-ms-error-code') ?? '', words: '', region, headers }
  const text = body.replace(/^\uFEFF/, '')
  if (!/^\s*</.test(text) || /^\s*<(!doctype|html)/i.test(text)) return plain
  const root = parseXml(text, host)
  const error = root.name === 'Error' ? root : childOf(root, 'Error')
  if (!error) return plain
  return {
    ...plain,
    code: textOf(error, 'Code') || plain.code,
    words: textOf(error, 'Message'),
    region: region ?? (textOf(error, 'Region') || undefined),
  }
}

export function unexplained(
  { status, code, words, headers }: StoreErrorResponse,
  { host, what, secrets }: { host: string; what: string; secrets: readonly (string | undefined)[] },
): SourceProblem | TransientError {
  let message = [code, words].filter(Boolean).join(': ')
  for (const secret of secrets) if (secret) message = message.replaceAll(secret, '…')
  const shown = message.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
  if (status < 400)
    return new SourceProblem(
      'REDIRECTED',
      `${host} redirects to another address for ${what}, and redirects are not followed. Give the region of the bucket, or the address of the store itself.`,
    )
  const problem = new SourceProblem(
    status === 429 || code === 'SlowDown' || code === 'ServerBusy' ? 'RATE_LIMITED' : 'SOURCE_FAILED',
    `${host} answered ${status} to a request for ${what}.${shown ? ` It says: ${shown}` : ''}`,
  )
  return retryableStatuses.has(status) || retryableCodes.has(code)
    ? new TransientError(problem, parseRetryAfter(headers))
    : problem
}
