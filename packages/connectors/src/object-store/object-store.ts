import { type ResponseHeaders, TransientError, parseRetryAfter } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { parseContentEncodings, type StoreResponse } from './store-client.ts'
import { findChild, parseXml, getChildText } from './xml.ts'

export interface StoredObject {
  key: string
  /** The stored size in bytes, before decompression. */
  size: number
  /**
   * The ETag as in the HTTP header. It identifies the version of the object's content and may only be compared for
   * equality.
   */
  etag: string
  lastModified: Date
}

/** A range of bytes of an object. */
export interface ObjectBytes {
  /** The offset of the first byte. It is 0 if the store ignores ranges and returns the whole object. */
  from: number
  /** True if the HTTP client decompressed the body. The body is then the whole object, and its length is unknown. */
  isDecompressed: boolean
  chunks: AsyncIterable<Uint8Array>
  /** Cancels the response. Call it unless the body is read to its end. */
  cancel(): Promise<void>
}

/**
 * A bucket or container. All operations throw `SourceProblem` for problems that a user can fix, `TransientError` for
 * problems that a retry can solve, and the signal's reason after an abort.
 */
export interface ObjectStore extends AsyncDisposable {
  host: string
  /** Returns the object with this key. Throws OBJECT_MISSING if it does not exist. */
  find(key: string, signal: AbortSignal): Promise<StoredObject>
  /** Returns one page of the objects with keys that start with `prefix`, in the order of the store. */
  list(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  /**
   * Returns one page of the objects and folders directly in a folder: those without a slash after `prefix`, except at
   * the end of the key.
   */
  listFolder(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedFolder>
  /** Returns one page of the names of the account's buckets or containers. */
  listContainers(page: ListedPage['next'], signal: AbortSignal): Promise<ListedContainers>
  /** Returns the bytes from `from` to `to` of exactly this version of the object. */
  open(object: StoredObject, from: number, to: number, signal: AbortSignal): Promise<ObjectBytes>
}

export interface ListedPage {
  objects: StoredObject[]
  /** The token of the next page. Undefined on the last page. */
  next: string | undefined
}

export interface ListedFolder extends ListedPage {
  /** The keys of folders. They end with a slash. */
  folders: string[]
}

export interface ListedContainers {
  names: string[]
  /** The token of the next page. Undefined on the last page. */
  next: string | undefined
}

export interface StoreRequest {
  /** The key of an object. Absent for requests about the bucket or container. */
  key?: string
  /** True for a request about the account instead of one bucket or container. */
  targetsAccount?: boolean
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  /** Error statuses that are returned to the caller instead of being thrown as a problem. */
  expected?: readonly number[]
}

interface StoreProtocol {
  host: string
  /**
   * Sends an authenticated request. Throws a problem for a response status of 300 or above that is not in `expected`.
   */
  get(request: StoreRequest, signal: AbortSignal): Promise<StoreResponse>
  list(prefix: string, next: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  listFolder: ObjectStore['listFolder']
  listContainers: ObjectStore['listContainers']
  close(): PromiseLike<void>
}

// HTTP statuses.
const partialContent = 206
const preconditionFailed = 412
const rangeNotSatisfiable = 416

/** Creates an object store from the requests and lists of its protocol. */
export function createObjectStore({ host, get, close, ...lists }: StoreProtocol): ObjectStore {
  return {
    host,
    ...lists,

    async find(key, signal) {
      // Requests one byte with GET instead of using HEAD, because a HEAD response has no body with the reason of an
      // error.
      const response = await get({ key, headers: { range: 'bytes=0-0' }, expected: [rangeNotSatisfiable] }, signal)
      await response.cancel()
      if (response.status !== rangeNotSatisfiable) return parseObjectHeaders(key, response)
      // An empty object has no byte 0, so it is requested again without a range.
      const emptyResponse = await get({ key }, signal)
      await emptyResponse.cancel()
      return parseObjectHeaders(key, emptyResponse)
    },

    async open(object, from, to, signal) {
      const { key, etag } = object
      const response = await get(
        { key, headers: createRangeHeaders(etag, from, to), expected: [preconditionFailed] },
        signal,
      )
      return parseRangeResponse(response, object, from)
    },

    [Symbol.asyncDispose]: close,
  }
}

/** Encodes a key for the path of a URL. Throws KEY_NOT_READABLE if a URL cannot represent the key. */
export function encodeKey(key: string): string {
  const segments = key.split('/')
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    const text = `The key ${key} contains a folder "." or "..", which a URL cannot represent. Copy the object to another key.`
    throw new SourceProblem('KEY_NOT_READABLE', text)
  }
  return segments.map(percentEncode).join('/')
}

/** Encodes all characters except letters, digits, `-`, `.`, `_` and `~` (RFC 3986). */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** Returns the headers that request the bytes from `from` up to, but not including, `to` of exactly this version. */
const createRangeHeaders = (etag: string, from: number, to: number): Record<string, string> => ({
  range: `bytes=${from}-${to - 1}`,
  ...(isStrongETag(etag) && { 'if-match': etag }),
})

/**
 * True if an If-Match header can match the ETag. Some stores mark ETags as weak, because they may compress the
 * response; weak ETags never match.
 */
const isStrongETag = (etag: string): boolean => etag.startsWith('"')

/**
 * Returns the bytes of a response to a range request, which has a success status or 412. Throws OBJECT_CHANGED if they
 * are of another version.
 */
async function parseRangeResponse(
  { status, headers, chunks, cancel }: StoreResponse,
  { key, etag }: StoredObject,
  from: number,
): Promise<ObjectBytes> {
  const currentETag = headers.get('etag')
  const isOtherVersion = currentETag !== null && etag !== '' && normalizeETag(currentETag) !== normalizeETag(etag)
  if (status >= 300 || isOtherVersion) {
    await cancel()
    throw createObjectChangedProblem(key)
  }
  // The client has decompressed the body, so offsets of the stored object do not apply to it.
  const isDecompressed = parseContentEncodings(headers).length > 0
  return { from: status === partialContent ? from : 0, isDecompressed, chunks, cancel }
}

const createObjectChangedProblem = (key: string): SourceProblem =>
  new SourceProblem('OBJECT_CHANGED', `"${key}" changed while it was being read. The old data stays; run again.`)

/** Removes from an ETag the weakness mark `W/` and the quotes, which some lists leave out. */
const normalizeETag = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '')

/**
 * Returns the description of an object from the headers of a range response. Throws OTHER_PROTOCOL if the size is
 * missing.
 */
function parseObjectHeaders(key: string, { status, headers }: StoreResponse): StoredObject {
  const sizeText =
    status === partialContent ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  if (!/^\d+$/.test(sizeText ?? '')) {
    const text = `The store does not return the size of "${key}", so the object cannot be read. Check that the endpoint is an object store.`
    throw new SourceProblem('OTHER_PROTOCOL', text)
  }
  return {
    key,
    size: Number(sizeText),
    etag: headers.get('etag') ?? '',
    lastModified: parseObjectTime(headers.get('last-modified') ?? ''),
  }
}

/** Parses the size in a list entry. Returns 0 for an invalid size, which makes the caller skip the object. */
export const parseSize = (text: string): number => (/^\d{1,18}$/.test(text) ? Number(text) : 0)

/** Parses a timestamp in a list or header. Returns 1970-01-01 if it is invalid. */
export function parseObjectTime(text: string): Date {
  const milliseconds = Date.parse(text)
  return new Date(Number.isNaN(milliseconds) ? 0 : milliseconds)
}

export interface StoreErrorResponse {
  status: number
  /** The error code, such as `NoSuchKey`. Empty if the response has no code. */
  code: string
  message: string
  /** The bucket's actual region, if the request was sent to another region. */
  region: string | undefined
  headers: ResponseHeaders
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

/** Returns the code and message of an error response from its headers and, if it is XML, from its body. */
export function parseErrorResponse(
  status: number,
  headers: ResponseHeaders,
  body: string,
  host: string,
): StoreErrorResponse {
  const region = headers.get('x-amz-bucket-region') ?? undefined
  const defaultResponse = { status, code: headers.get('x-ms-error-code') ?? '', message: '', region, headers }
  const text = body.replace(/^\uFEFF/, '')
  const isXml = /^\s*</.test(text) && !/^\s*<(!doctype|html)/i.test(text)
  if (!isXml) return defaultResponse
  const root = parseXml(text, host)
  const error = root.name === 'Error' ? root : findChild(root, 'Error')
  if (!error) return defaultResponse
  return {
    ...defaultResponse,
    code: getChildText(error, 'Code') || defaultResponse.code,
    message: getChildText(error, 'Message'),
    region: region ?? (getChildText(error, 'Region') || undefined),
  }
}

/**
 * Returns the problem for an error status. It is transient if the status or code shows that another attempt may
 * succeed. The message quotes the message of the store, in which `secrets` are redacted.
 */
export function createStatusProblem(
  { status, code, message: serverText, headers }: StoreErrorResponse,
  { host, action, secrets }: { host: string; action: string; secrets: readonly (string | undefined)[] },
): SourceProblem | TransientError {
  if (status < 400)
    return new SourceProblem(
      'REDIRECTED',
      `${host} redirects the request for ${action}, but Sluice does not follow redirects of object stores. Enter the region of the bucket, or the final address of the store.`,
    )
  let serverMessage = [code, serverText].filter(Boolean).join(': ')
  for (const secret of secrets) if (secret) serverMessage = serverMessage.replaceAll(secret, '…')
  const shortMessage = serverMessage.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
  const quotedMessage = shortMessage ? ` It says: ${shortMessage}` : ''
  const isRateLimited = status === 429 || code === 'SlowDown' || code === 'ServerBusy'
  const problem = new SourceProblem(
    isRateLimited ? 'RATE_LIMITED' : 'SOURCE_FAILED',
    `${host} returned the status ${status} for ${action}.${quotedMessage}`,
  )
  const isTransient = retryableStatuses.has(status) || retryableCodes.has(code)
  return isTransient ? new TransientError(problem, parseRetryAfter(headers)) : problem
}
