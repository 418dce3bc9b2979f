import { closeSync } from 'node:fs'
import { FileBytes } from '@sluice/file-formats/spool/byte-source'
import { openSpool, writeSpool } from '@sluice/file-formats/spool/spool-file'
import { type SsrfSafeFetch, OutgoingProblem, retry, type RetryPolicy, TransientError } from '@sluice/http-client'
import { secretRedactor } from '@sluice/process'
import { SourceProblem } from '@sluice/row-stream'
import { parseJson } from './exact-json.ts'
import {
  type FailedRequest,
  createNetworkFailure,
  createNotJsonFailure,
  createRedirectedBodyFailure,
  createRedirectLoopFailure,
  createRedirectFailure,
  createForeignLinkFailure,
  type RequestTarget,
  createStatusFailure,
  createWebPageFailure,
} from './http-problems.ts'

/** Query parameters of a request. Undefined values are left out. A list becomes several parameters of the same name. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** The address of a system and the credentials for its requests. */
export interface HttpConnection {
  url: string
  /** Segments at the end of the path that users copy by mistake, such as `api`. They are removed from the address. */
  ignoredSegments?: readonly string[]
  /** Headers that every request gets. */
  headers?: Readonly<Record<string, string>>
  /**
   * Signs in and returns the headers of the session. Called before the first request, and once more after a 401,
   * because sessions expire. Requests through the passed `http` have no session headers.
   */
  signIn?(http: HttpSession): Promise<Readonly<Record<string, string>>>
  /**
   * Ends the session, for systems with sessions that do not expire. Called after the last request, with a time limit of
   * two seconds. Errors are ignored.
   */
  signOut?(http: HttpSession, session: Readonly<Record<string, string>>): Promise<unknown>
  /** Returns headers that sign a request. Called before each attempt of the request. */
  sign?(request: RequestToSign): Promise<Readonly<Record<string, string>>>
}

export interface RequestToSign {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface RequestOptions {
  query?: QueryParameters
  method?: 'GET' | 'POST' | 'DELETE'
  /** `URLSearchParams` are sent as a form, any other object as JSON. */
  body?: URLSearchParams | object
  headers?: Readonly<Record<string, string>>
  /** True if the request may be retried. Default: true for GET, false for other methods. */
  isIdempotent?: boolean
  /** The requested object as the message of a 404 names it, such as `The form "abc"`. */
  subject?: string
}

/** A response body on disk. Dispose it to free the disk space. */
export interface DownloadedBody extends Disposable {
  size: number
  headers: Headers
  /**
   * Reads the body from its start. A chunk is valid only until the next one is requested, because they share a buffer.
   */
  chunks(): AsyncIterable<Buffer>
}

/**
 * Sends requests to one system. Paths are relative to `base`. All methods throw `SourceProblem`, or the signal's reason
 * after an abort.
 */
export interface HttpSession {
  /** The address as `https://host/prefix`, without a trailing slash. */
  readonly base: string
  /**
   * Returns the time of the first request by the system's clock, as Unix milliseconds. It is computed from the header
   * `Date` of the first response. Without that header, it is this process's time.
   */
  startedAt(): number
  /**
   * Returns the parsed JSON body, which may have up to 32 MB. Numbers that JavaScript cannot represent keep their
   * digits (`JSON.rawJSON`).
   */
  getJson(path: string, options?: RequestOptions): Promise<unknown>
  /** Returns the parsed JSON body and the response headers. */
  getResponse(path: string, options?: RequestOptions): Promise<{ json: unknown; headers: Headers }>
  /** Downloads a body to disk. It may be larger than the limit for bodies in memory. */
  download(path: string, options?: RequestOptions): Promise<DownloadedBody>
  /**
   * Converts a link in a response to a path of this session. Throws `SourceProblem` for a link to another host, which
   * must not receive the credentials.
   */
  resolveLink(link: string): string
  /** Returns a session without credentials for another address, such as a token endpoint or file server. */
  createPublicSession(url: string): HttpSession
  /** Redacts secrets in a text from the source system, and shortens it to one line of at most 500 characters. */
  redactText(text: string): string
}

/**
 * Normalises the address that a user entered to `https://host/prefix`, without the ignored segments. Throws
 * `SourceProblem` ADDRESS_INVALID for an invalid address, which may come from a variable.
 */
export function parseBaseUrl(address: string, ignoredSegments: readonly string[] = []): string {
  if (!URL.canParse(address.trim()))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Enter it in the form https://data.example.org.')
  const url = new URL(address.trim())
  let path = url.pathname.replace(/\/+$/, '')
  for (const name of ignoredSegments)
    if (path.toLowerCase().endsWith(`/${name}`)) path = path.slice(0, -name.length - 1)
  return `${url.origin}${path.replace(/\/+$/, '')}`
}

/** Returns the value of the header `authorization` for a username and password (HTTP Basic, RFC 7617, UTF-8). */
export const formatBasicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

export interface HttpSessionOptions {
  fetch: Pick<SsrfSafeFetch, 'fetch'>
  /** The fetch function for downloads, which allows larger bodies. */
  downloads: Pick<SsrfSafeFetch, 'fetch'>
  system: string
  /** Values that are redacted in all messages. */
  secrets: readonly string[]
  retryPolicy: RetryPolicy
  /** Maximum number of JSON values of a response. */
  maxValues?: number
  directory: string
  signal: AbortSignal
  onBytes(bytes: number): void
  onRetry(problem: SourceProblem, seconds: number): void
  onAlive(): void
}

export interface OpenHttpSession extends HttpSession {
  /** Signs out if the session is open. Never throws. */
  signOut(): Promise<void>
}

/** Thrown for a response that cannot be used. The retry loop decides whether to send the request again. */
class UnusableResponse extends Error {
  readonly failure: FailedRequest

  constructor(failure: FailedRequest) {
    super(failure.problem.message)
    this.failure = failure
  }
}

type SessionHeaders = Readonly<Record<string, string>>
type ResponseReader<T> = (response: Response) => Promise<T>

interface RequestMode {
  /** True if requests get the session headers and a signature. */
  isAuthenticated: boolean
  fetch: Pick<SsrfSafeFetch, 'fetch'>
}

const maxRedirects = 5
/** The time limit of the sign-out. It is short, because a cancelled run must end within five seconds. */
const signOutTimeoutMs = 2_000

/** Creates a session. The first request signs in. */
export function openHttpSession(connection: HttpConnection, options: HttpSessionOptions): OpenHttpSession {
  const { signal, retryPolicy, onAlive } = options
  const base = parseBaseUrl(connection.url, connection.ignoredSegments)
  const { host } = new URL(base)
  const secrets = [...options.secrets, ...listCredentials(connection.headers ?? {})]
  let redactText = secretRedactor(secrets)
  let session: Promise<SessionHeaders> | undefined
  let startedAt: number | undefined

  const createTarget = (subject?: string): RequestTarget => ({
    system: options.system,
    host,
    redactText: (text) => redactText(text),
    subject,
  })

  /** Returns the headers of the session. Signs in at the first call, and again after the session has expired. */
  async function getSessionHeaders(signIn: NonNullable<HttpConnection['signIn']>): Promise<SessionHeaders> {
    session ??= signIn(createSession({ isAuthenticated: false })).then((headers) => {
      redactText = secretRedactor([...secrets, ...listCredentials(headers)])
      return headers
    })
    return await session
  }

  /** Sends one request and follows redirects within the same host. */
  async function send(url: URL, request: RequestOptions, { isAuthenticated, fetch }: RequestMode): Promise<Response> {
    const { method = 'GET' } = request
    const { body, contentType } = encodeBody(request.body)
    const headers = {
      accept: 'application/json',
      ...(body && { 'content-type': contentType }),
      ...connection.headers,
      ...(isAuthenticated && connection.signIn && (await getSessionHeaders(connection.signIn))),
      ...request.headers,
    }
    const signature = isAuthenticated && (await connection.sign?.({ method, url, headers, ...(body && { body }) }))
    const init = { method, signal, headers: { ...headers, ...signature }, ...(body && { body }) }
    let currentUrl = url
    for (let redirects = 0; ; redirects += 1) {
      const localTime = Date.now()
      const sentAt = performance.now()
      const response = await fetch.fetch(currentUrl, init)
      if (startedAt === undefined) {
        const responseTime = Date.parse(response.headers.get('date') ?? '')
        startedAt = Number.isNaN(responseTime) ? localTime : responseTime - (performance.now() - sentAt)
      }
      const isRedirect = response.status >= 300 && response.status < 400
      const location = isRedirect ? response.headers.get('location') : null
      if (location === null) return response
      await response.body?.cancel()
      currentUrl = getRedirectTarget(location, currentUrl, method, redirects, createTarget(request.subject))
    }
  }

  /** Sends a request and retries transient failures. If the session has expired, signs in again once. */
  async function sendWithRetry<T>(
    path: string,
    request: RequestOptions,
    mode: RequestMode,
    readResponse: ResponseReader<T>,
  ): Promise<T> {
    const isRepeatable = request.isIdempotent ?? (request.method ?? 'GET') === 'GET'
    const target = createTarget(request.subject)
    let canSignInAgain = mode.isAuthenticated && connection.signIn !== undefined

    async function attempt(): Promise<T> {
      try {
        const response = await send(buildUrl(base, path, request.query), request, mode)
        if (response.ok) return await readResponse(response)
        throw new UnusableResponse(
          createStatusFailure(response.status, response.headers, await readErrorBody(response), target),
        )
      } catch (error) {
        signal.throwIfAborted()
        const { problem, isRetryable, retryAfter, isSignedOut } = toFailedRequest(error, target)
        if (isSignedOut && canSignInAgain) {
          canSignInAgain = false
          session = undefined
          return await attempt()
        }
        throw isRetryable && isRepeatable ? new TransientError(problem, retryAfter) : problem
      }
    }

    const onRetry = (problem: Error, seconds: number) => options.onRetry(problem as SourceProblem, seconds)
    return await retry(attempt, { policy: retryPolicy, signal, onRetry, onAlive })
  }

  const createJsonReader =
    ({ subject }: RequestOptions) =>
    async (response: Response) => {
      const target = createTarget(subject)
      const type = (response.headers.get('content-type') ?? '').split(';')[0]!
      if (/html/.test(type)) throw new UnusableResponse(createWebPageFailure(await readErrorBody(response), target))
      const text = await response.text()
      options.onBytes(Buffer.byteLength(text))
      if (/^\s*<(!doctype|html)/i.test(text)) throw new UnusableResponse(createWebPageFailure(text, target))
      try {
        return { json: parseJson(text, options.maxValues), headers: response.headers }
      } catch (error) {
        if (error instanceof SourceProblem) throw error
        throw new UnusableResponse(createNotJsonFailure(type, target))
      }
    }

  const createBodyReader =
    ({ subject }: RequestOptions) =>
    async (response: Response) => {
      if (/html/.test(response.headers.get('content-type') ?? ''))
        throw new UnusableResponse(createWebPageFailure(await readErrorBody(response), createTarget(subject)))
      return await downloadToSpool(options.directory, response, options.onBytes)
    }

  function createSession({ isAuthenticated }: { isAuthenticated: boolean }): HttpSession {
    const mode = { isAuthenticated, fetch: options.fetch }
    return {
      base,
      startedAt: () => startedAt ?? Date.now(),
      getJson: async (path, request = {}) => (await sendWithRetry(path, request, mode, createJsonReader(request))).json,
      getResponse: (path, request = {}) => sendWithRetry(path, request, mode, createJsonReader(request)),
      download: (path, request = {}) =>
        sendWithRetry(path, request, { isAuthenticated, fetch: options.downloads }, createBodyReader(request)),
      resolveLink: (link) => resolveLinkPath(link, base, createTarget()),
      createPublicSession: (url) => openHttpSession({ url }, options),
      redactText: (text) => redactText(text),
    }
  }

  /** Signs out with its own signal, so that this also works after an abort. */
  async function signOut(): Promise<void> {
    const sessionHeaders = await session?.catch(() => undefined)
    if (!sessionHeaders || !connection.signOut) return
    const { url, ignoredSegments = [] } = connection
    const signOutSession = openHttpSession(
      { url, ignoredSegments, headers: { ...connection.headers, ...sessionHeaders } },
      { ...options, signal: AbortSignal.timeout(signOutTimeoutMs), retryPolicy: { ...retryPolicy, attempts: 1 } },
    )
    await connection.signOut(signOutSession, sessionHeaders).catch(() => {})
  }
  return { ...createSession({ isAuthenticated: true }), signOut }
}

/**
 * Returns the address of a redirect. Only a GET request may be redirected, and only to the same host and port, with the
 * same scheme or https. Throws `UnusableResponse` for any other redirect, and after too many redirects.
 */
function getRedirectTarget(
  location: string,
  currentUrl: URL,
  method: string,
  redirectCount: number,
  target: RequestTarget,
): URL {
  const redirectUrl = URL.canParse(location, currentUrl.href) ? new URL(location, currentUrl) : undefined
  if (!redirectUrl) throw new UnusableResponse(createRedirectFailure('no address', target))
  // `host` includes the port, because another port can be another server. It leaves out the default port, so a redirect
  // from http to https with default ports is allowed.
  if (redirectUrl.host !== currentUrl.host) throw new UnusableResponse(createRedirectFailure(redirectUrl.host, target))
  const isSafeProtocol = redirectUrl.protocol === currentUrl.protocol || redirectUrl.protocol === 'https:'
  if (!isSafeProtocol) throw new UnusableResponse(createRedirectFailure(redirectUrl.origin, target))
  // The query can contain secrets.
  const addressWithoutQuery = target.redactText(redirectUrl.origin + redirectUrl.pathname)
  if (method !== 'GET') throw new UnusableResponse(createRedirectedBodyFailure(addressWithoutQuery, target))
  if (redirectCount === maxRedirects) throw new UnusableResponse(createRedirectLoopFailure(target))
  return redirectUrl
}

/** Lists header values with and without the authentication scheme, because servers repeat either form in messages. */
const listCredentials = (headers: SessionHeaders): string[] =>
  Object.values(headers).flatMap((value) => [value, value.replace(/^\S+ /, '')])

function toFailedRequest(error: unknown, target: RequestTarget): FailedRequest {
  if (error instanceof UnusableResponse) return error.failure
  if (error instanceof OutgoingProblem) return createNetworkFailure(error, target)
  throw error
}

/** Returns the body as text, as a form or as JSON, and its type. */
function encodeBody(body: RequestOptions['body']): { body: string | undefined; contentType: string } {
  if (body instanceof URLSearchParams)
    return { body: body.toString(), contentType: 'application/x-www-form-urlencoded' }
  return { body: body && JSON.stringify(body), contentType: 'application/json' }
}

/** Returns the URL of a request. `path` is relative to `base`; a list in `query` adds its parameter several times. */
function buildUrl(base: string, path: string, query: QueryParameters = {}): URL {
  const isQueryOnly = path === '' || path.startsWith('?')
  const url = new URL(isQueryOnly ? `${base}${path}` : `${base}/${path.replace(/^\/+/, '')}`)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    const items = typeof value === 'object' ? value : [value]
    for (const item of items) url.searchParams.append(name, String(item))
  }
  return url
}

/**
 * Returns the path and query of a link relative to `base`. Ignores the link's scheme and port, because a system that
 * uses a reverse proxy does not know its public ones. Throws `SourceProblem` for a link to another host or another
 * path.
 */
function resolveLinkPath(link: string, base: string, target: RequestTarget): string {
  const baseUrl = new URL(`${base}/`)
  const linkUrl = URL.canParse(link, baseUrl.href) ? new URL(link, baseUrl) : undefined
  if (!linkUrl) throw createForeignLinkFailure(undefined, target).problem
  const isBelowBase = linkUrl.hostname === baseUrl.hostname && `${linkUrl.pathname}/`.startsWith(baseUrl.pathname)
  if (!isBelowBase) throw createForeignLinkFailure(linkUrl.host || undefined, target).problem
  return `${linkUrl.pathname.slice(baseUrl.pathname.length)}${linkUrl.search}`
}

const maxErrorBytes = 100_000

/** Reads the first 100 kB of a body. A limit is needed because a few compressed bytes can expand to gigabytes. */
async function readErrorBody({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // `break` cancels the rest of the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= maxErrorBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes).toString()
}

const chunkBytes = 256 * 1024

/**
 * Writes a body to an unnamed file, which is deleted when its descriptor is closed. Disposal of the result closes it.
 * Calls `onBytes` with the size of each chunk.
 */
async function downloadToSpool(
  directory: string,
  response: Response,
  onBytes: (bytes: number) => void,
): Promise<DownloadedBody> {
  const descriptor = openSpool(directory)
  let size = 0
  // Shows that the source responds, even if the body is empty.
  onBytes(0)
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      writeSpool(descriptor, chunk, size)
      size += chunk.length
      onBytes(chunk.length)
    }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
  let isOpen = true
  return {
    size,
    headers: response.headers,
    chunks: () => new FileBytes(descriptor, 0, size, chunkBytes).chunks(),
    [Symbol.dispose]() {
      if (isOpen) closeSync(descriptor)
      isOpen = false
    },
  }
}
