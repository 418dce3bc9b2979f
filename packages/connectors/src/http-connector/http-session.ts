import { closeSync, writeSync } from 'node:fs'
import { FileBytes } from '@sluice/file-formats/spool/byte-source'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'
import { type GuardedFetch, OutgoingProblem, retry, type RetryPolicy, TransientError } from '@sluice/http-client'
import { secretRedactor } from '@sluice/process'
import { SourceProblem } from '@sluice/row-stream'
import { parseJson } from './exact-json.ts'
import {
  type FailedRequest,
  networkProblem,
  notJsonProblem,
  redirectedPostProblem,
  redirectLoopProblem,
  redirectProblem,
  type RequestTarget,
  statusProblem,
  webPageProblem,
} from './http-problems.ts'

/** Parameters of a request. Undefined values are omitted; a list becomes one parameter for each of its values. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** The address of a system and the credentials of its requests. */
export interface HttpConnection {
  url: string
  /** Trailing path segments that users copy by mistake, such as `api`; they are removed. */
  ignoredSegments?: readonly string[]
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>
  /**
   * Signs in and returns the headers of the session. Called before the first request, and once more after a 401, because sessions expire.
   * Its `http` is not signed in.
   */
  signIn?(http: HttpSession): Promise<Readonly<Record<string, string>>>
  /**
   * Ends the session, for systems whose sessions do not expire. Called at the end, with a timeout of two seconds; errors are ignored.
   */
  signOut?(http: HttpSession, session: Readonly<Record<string, string>>): Promise<unknown>
  /** Returns the headers that sign a request. Called before each attempt. */
  sign?(request: UnsignedRequest): Promise<Readonly<Record<string, string>>>
}

export interface UnsignedRequest {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface RequestOptions {
  query?: QueryParameters
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as a form if it is `URLSearchParams`, else as JSON. */
  body?: URLSearchParams | object
  headers?: Readonly<Record<string, string>>
  /** Whether the request is idempotent. GET requests always are. */
  repeatable?: boolean
  /** The requested thing, for the message of a 404: `The form "abc"`. */
  subject?: string
}

/** A response body on disk. Disposing it frees the disk space. */
export interface DownloadedBody extends Disposable {
  size: number
  headers: Headers
  /** Reads the body from its start; can be called again. A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Buffer>
}

/** Sends requests to one system. Paths are relative to `base`. All methods throw `SourceProblem` or the signal's reason. */
export interface HttpSession {
  /** `https://host/prefix`, without a trailing slash. */
  readonly base: string
  /**
   * The clock of the system at the first request, in milliseconds since 1970: the `Date` of the first response minus the
   * duration of the request. This process's clock if there was no response yet or it has no `Date`.
   */
  startedAt(): number
  /** Returns the parsed JSON body, which is limited to 32 MB. Numbers that JavaScript cannot hold keep their digits (`JSON.rawJSON`). */
  getJson(path: string, options?: RequestOptions): Promise<unknown>
  /** Returns the parsed JSON body and the response headers. */
  getResponse(path: string, options?: RequestOptions): Promise<{ json: unknown; headers: Headers }>
  /** Downloads a body that can be larger than the memory limit. */
  download(path: string, options?: RequestOptions): Promise<DownloadedBody>
  /** Turns a link of a response into a path of this session. Throws for another host, which would receive the credentials. */
  resolveLink(link: string): string
  /** A session for another address, without credentials, such as a token endpoint or a file server. */
  forOrigin(url: string): HttpSession
  /** Removes secrets from text of the system and shortens it to one line of 500 characters. */
  redactText(text: string): string
}

/**
 * Returns `https://host/prefix` of an address that a user entered, without the ignored segments. Throws `SourceProblem` if the address is
 * invalid, which can be the case for the value of a variable.
 */
export function parseBaseUrl(address: string, ignoredSegments: readonly string[] = []): string {
  if (!URL.canParse(address.trim()))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Write it like https://data.example.org.')
  const url = new URL(address.trim())
  let path = url.pathname.replace(/\/+$/, '')
  for (const name of ignoredSegments)
    if (path.toLowerCase().endsWith(`/${name}`)) path = path.slice(0, -name.length - 1)
  return `${url.origin}${path.replace(/\/+$/, '')}`
}

/** Username and password as the header `authorization` has them in HTTP's Basic scheme (RFC 7617, UTF-8). */
export const basicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

export interface HttpSessionOptions {
  fetch: Pick<GuardedFetch, 'fetch'>
  /** The fetch function for bodies that go to disk. */
  downloads: Pick<GuardedFetch, 'fetch'>
  system: string
  /** Values that no message may contain. */
  secrets: readonly string[]
  retryPolicy: RetryPolicy
  /** Maximum JSON values of one response; the general maximum when absent. */
  maxValues?: number
  directory: string
  signal: AbortSignal
  onBytes(bytes: number): void
  onRetry(problem: SourceProblem, seconds: number): void
  onAlive(): void
}

export interface OpenHttpSession extends HttpSession {
  /** Ends the session if one is open. Never throws. */
  signOut(): Promise<void>
}

/** A response that cannot be used. The retry loop decides what happens next. */
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
  /** Whether the request has the headers of the session and a signature. */
  authenticated: boolean
  fetch: Pick<GuardedFetch, 'fetch'>
}

const maxRedirects = 5
/** Milliseconds for ending a session, because a cancelled run must end within five seconds. */
const signOutTimeoutMs = 2_000

/** Opens a session. Sends no request yet. */
export function openHttpSession(connection: HttpConnection, options: HttpSessionOptions): OpenHttpSession {
  const { signal, retryPolicy, onAlive } = options
  const base = parseBaseUrl(connection.url, connection.ignoredSegments)
  const { host } = new URL(base)
  const secrets = [...options.secrets, ...listCredentials(connection.headers ?? {})]
  let redactText = secretRedactor(secrets)
  let session: Promise<SessionHeaders> | undefined
  let startedAt: number | undefined

  const targetOf = (subject?: string): RequestTarget => ({
    system: options.system,
    host,
    redactText: (text) => redactText(text),
    subject,
  })

  async function getSessionHeaders(signIn: NonNullable<HttpConnection['signIn']>): Promise<SessionHeaders> {
    session ??= signIn(withMode(false)).then((headers) => {
      redactText = secretRedactor([...secrets, ...listCredentials(headers)])
      return headers
    })
    return await session
  }

  /** Sends one request and follows redirects within the host. */
  async function send(url: URL, request: RequestOptions, { authenticated, fetch }: RequestMode): Promise<Response> {
    const { method = 'GET' } = request
    const isForm = request.body instanceof URLSearchParams
    const body =
      request.body instanceof URLSearchParams ? request.body.toString() : request.body && JSON.stringify(request.body)
    const headers = {
      accept: 'application/json',
      ...(body && { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...connection.headers,
      ...(authenticated && connection.signIn && (await getSessionHeaders(connection.signIn))),
      ...request.headers,
    }
    const signature = authenticated && (await connection.sign?.({ method, url, headers, ...(body && { body }) }))
    const init = { method, signal, headers: { ...headers, ...signature }, ...(body && { body }) }
    let current = url
    for (let redirects = 0; ; redirects += 1) {
      const [clock, sentAt] = [Date.now(), performance.now()]
      const response = await fetch.fetch(current, init)
      if (startedAt === undefined) {
        const date = Date.parse(response.headers.get('date') ?? '')
        startedAt = Number.isNaN(date) ? clock : date - (performance.now() - sentAt)
      }
      const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (location === null) return response
      await response.body?.cancel()
      current = nextLocation(location, current, method, redirects, targetOf(request.subject))
    }
  }

  /** Sends a request and retries transient failures. Signs in again once if the session has ended. */
  async function sendWithRetry<T>(
    path: string,
    request: RequestOptions,
    mode: RequestMode,
    read: ResponseReader<T>,
  ): Promise<T> {
    const isRepeatable = request.repeatable ?? (request.method ?? 'GET') === 'GET'
    const target = targetOf(request.subject)
    let canSignInAgain = mode.authenticated && connection.signIn !== undefined

    async function attempt(): Promise<T> {
      try {
        const response = await send(buildUrl(base, path, request.query), request, mode)
        if (response.ok) return await read(response)
        throw new UnusableResponse(
          statusProblem(response.status, response.headers, await readErrorBody(response), target),
        )
      } catch (error) {
        signal.throwIfAborted()
        const { problem, isRetryable, retryAfter, signedOut } = toFailedRequest(error, target)
        if (signedOut && canSignInAgain) {
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

  const jsonReader =
    ({ subject }: RequestOptions) =>
    async (response: Response) => {
      const target = targetOf(subject)
      const type = (response.headers.get('content-type') ?? '').split(';')[0]!
      if (/html/.test(type)) throw new UnusableResponse(webPageProblem(await readErrorBody(response), target))
      const text = await response.text()
      options.onBytes(Buffer.byteLength(text))
      if (/^\s*<(!doctype|html)/i.test(text)) throw new UnusableResponse(webPageProblem(text, target))
      try {
        return { json: parseJson(text, options.maxValues), headers: response.headers }
      } catch (error) {
        if (error instanceof SourceProblem) throw error
        throw new UnusableResponse(notJsonProblem(type, target))
      }
    }

  const bodyReader =
    ({ subject }: RequestOptions) =>
    async (response: Response) => {
      if (/html/.test(response.headers.get('content-type') ?? ''))
        throw new UnusableResponse(webPageProblem(await readErrorBody(response), targetOf(subject)))
      return await downloadToSpool(options.directory, response, options.onBytes)
    }

  function withMode(authenticated: boolean): HttpSession {
    const mode = { authenticated, fetch: options.fetch }
    return {
      base,
      startedAt: () => startedAt ?? Date.now(),
      getJson: async (path, request = {}) => (await sendWithRetry(path, request, mode, jsonReader(request))).json,
      getResponse: (path, request = {}) => sendWithRetry(path, request, mode, jsonReader(request)),
      download: (path, request = {}) =>
        sendWithRetry(path, request, { authenticated, fetch: options.downloads }, bodyReader(request)),
      resolveLink: (link) => resolveLinkPath(link, base, targetOf()),
      forOrigin: (url) => openHttpSession({ url }, options),
      redactText: (text) => redactText(text),
    }
  }

  /** Uses its own signal, so that it also runs after an abort. */
  async function signOut(): Promise<void> {
    const sessionHeaders = await session?.catch(() => undefined)
    if (!sessionHeaders || !connection.signOut) return
    const { url, ignoredSegments = [] } = connection
    const closing = openHttpSession(
      { url, ignoredSegments, headers: { ...connection.headers, ...sessionHeaders } },
      { ...options, signal: AbortSignal.timeout(signOutTimeoutMs), retryPolicy: { ...retryPolicy, attempts: 1 } },
    )
    await connection.signOut(closing, sessionHeaders).catch(() => {})
  }
  return { ...withMode(true), signOut }
}

/** Returns the address of a redirect. Throws `UnusableResponse` if it must not be followed. */
function nextLocation(location: string, current: URL, method: string, redirects: number, target: RequestTarget): URL {
  const next = URL.canParse(location, current.href) ? new URL(location, current) : undefined
  // The port counts, because another port can be another server. A redirect from http to https, both at their default ports,
  // stays on the same host.
  if (!next || next.host !== current.host)
    throw new UnusableResponse(redirectProblem(next ? next.host : 'no address', target))
  if (next.protocol !== current.protocol && next.protocol !== 'https:')
    throw new UnusableResponse(redirectProblem(next.origin, target))
  // The query can contain secrets of the system.
  if (method !== 'GET')
    throw new UnusableResponse(redirectedPostProblem(target.redactText(next.origin + next.pathname), target))
  if (redirects === maxRedirects) throw new UnusableResponse(redirectLoopProblem(target))
  return next
}

/** Lists header values with and without the authentication scheme, because servers repeat either in messages. */
const listCredentials = (headers: SessionHeaders): string[] =>
  Object.values(headers).flatMap((value) => [value, value.replace(/^\S+ /, '')])

function toFailedRequest(error: unknown, target: RequestTarget): FailedRequest {
  if (error instanceof UnusableResponse) return error.failure
  if (error instanceof OutgoingProblem) return networkProblem(error, target)
  throw error
}

function buildUrl(base: string, path: string, query: QueryParameters = {}): URL {
  const url = new URL(path === '' || path.startsWith('?') ? `${base}${path}` : `${base}/${path.replace(/^\/+/, '')}`)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const item of typeof value === 'object' ? value : [value]) url.searchParams.append(name, String(item))
  }
  return url
}

/** Compares hosts only, because systems behind a proxy do not know their public scheme and port. */
function resolveLinkPath(link: string, base: string, target: RequestTarget): string {
  const from = new URL(`${base}/`)
  const to = URL.canParse(link, from.href) ? new URL(link, from) : undefined
  if (!to || to.hostname !== from.hostname || !`${to.pathname}/`.startsWith(from.pathname))
    throw redirectProblem(to ? to.host : 'no address', target).problem
  return `${to.pathname.slice(from.pathname.length)}${to.search}`
}

const maxErrorBytes = 100_000

/** Reads the first bytes of a body. A few compressed bytes can expand to gigabytes. */
async function readErrorBody({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= maxErrorBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes).toString()
}

const chunkBytes = 256 * 1024

/** Writes a body to an unnamed file. An incomplete body leaves no file. */
async function downloadToSpool(
  directory: string,
  response: Response,
  onBytes: (bytes: number) => void,
): Promise<DownloadedBody> {
  const descriptor = openSpool(directory)
  let size = 0
  // Reports an empty response as activity too.
  onBytes(0)
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      for (let done = 0; done < chunk.length; )
        done += writeSync(descriptor, chunk, done, chunk.length - done, size + done)
      size += chunk.length
      onBytes(chunk.length)
    }
  } catch (error) {
    closeSync(descriptor)
    throw diskProblem(error) ?? error
  }
  let open = true
  return {
    size,
    headers: response.headers,
    chunks: () => new FileBytes(descriptor, 0, size, chunkBytes).chunks(),
    [Symbol.dispose]() {
      if (open) closeSync(descriptor)
      open = false
    },
  }
}
