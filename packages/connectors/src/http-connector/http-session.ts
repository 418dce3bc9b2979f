import { SourceProblem } from '@sluice/row-stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type GuardedFetch, OutgoingProblem } from '@sluice/http-client'
import { parseJson } from './exact-json.ts'
import { type RetryPolicy, maxRetryAfter, retryDelay } from './retry-policy.ts'
import { type FailedRequest, type RequestTarget, notJsonProblem, networkProblem, webPageProblem, statusProblem, redirectProblem, redirectLoopProblem, redirectedPostProblem } from './http-problems.ts'
import { secretRedactor } from '@sluice/process'
import { closeSync, writeSync } from 'node:fs'
import { FileBytes } from '@sluice/file-formats/spool/byte-source'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'

/** Parameters of a request. Undefined values are omitted; a list becomes one parameter for each of its values. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** The address of a system and the credentials of its requests. */
export interface SystemConnection {
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
  getJson(path: string, asked?: RequestOptions): Promise<unknown>
  /** Returns the parsed JSON body and the response headers. */
  getResponse(path: string, asked?: RequestOptions): Promise<{ json: unknown; headers: Headers }>
  /** Downloads a body that can be larger than the memory limit. */
  download(path: string, asked?: RequestOptions): Promise<DownloadedBody>
  /** Turns a link of a response into a path of this session. Throws for another host, which would receive the credentials. */
  resolveLink(link: string): string
  /** A session for another address, without credentials, such as a token endpoint or a file server. */
  forOrigin(url: string): HttpSession
  /** Removes secrets from text of the system and shortens it to one line of 500 characters. */
  redactText(text: string): string
}

/**
 * Returns `https://host/prefix` of an address that a user entered, without the segments `without`. Throws `SourceProblem` if the address is
 * invalid, which can be the case for the value of a variable.
 */
export function parseBaseUrl(typed: string, without: readonly string[] = []): string {
  if (!URL.canParse(typed.trim()))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Write it like https://data.example.org.')
  const url = new URL(typed.trim())
  let path = url.pathname.replace(/\/+$/, '')
  for (const name of without) if (path.toLowerCase().endsWith(`/${name}`)) path = path.slice(0, -name.length - 1)
  return `${url.origin}${path.replace(/\/+$/, '')}`
}


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

interface RequestMode {
  own: boolean
  fetch: Pick<GuardedFetch, 'fetch'>
}

type ResponseReader<T> = (response: Response) => Promise<T>

/** A response that cannot be used; the retry loop decides what to do. */
class UnusableResponse extends Error {
  readonly refusal: FailedRequest

  constructor(refusal: FailedRequest) {
    super(refusal.problem.message)
    this.refusal = refusal
  }
}

const maxRedirects = 5

/** Milliseconds for ending a session, because a cancelled run must end within five seconds. */
const signOutTimeoutMs = 2_000

export interface OpenHttpSession extends HttpSession {
  /** Ends the session if one is open. Never throws. */
  signOut(): Promise<void>
}

export function openHttpSession(connection: SystemConnection, parts: HttpSessionOptions): OpenHttpSession {
  const { signal, retryPolicy, secrets } = parts
  const base = parseBaseUrl(connection.url, connection.ignoredSegments)
  const { host } = new URL(base)
  const given = listCredentials(connection.headers ?? {})
  let words = secretRedactor([...secrets, ...given])
  let session: Promise<Readonly<Record<string, string>>> | undefined
  let began: number | undefined

  const scene = (asked?: RequestOptions): RequestTarget => ({
    system: parts.system,
    host,
    redactText: (text) => words(text),
    ...(asked?.subject !== undefined && { subject: asked.subject }),
  })

  /** Returns the headers of the session and signs in without a session. */
  async function signedIn(): Promise<Readonly<Record<string, string>>> {
    const { signIn } = connection
    if (!signIn) return {}
    session ??= signIn(open(false)).then((headers) => {
      words = secretRedactor([...secrets, ...given, ...listCredentials(headers)])
      return headers
    })
    return await session
  }

  /** Sends one request and follows redirects within the host. */
  async function exchange(url: URL, asked: RequestOptions, { own, fetch }: RequestMode): Promise<Response> {
    const { body, method = 'GET' } = asked
    const form = body instanceof URLSearchParams
    const sent = form ? body.toString() : body && JSON.stringify(body)
    const headers = {
      accept: 'application/json',
      ...(body && { 'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...connection.headers,
      ...(own && (await signedIn())),
      ...asked.headers,
    }
    const signature = own && (await connection.sign?.({ method, url, headers, ...(sent && { body: sent }) }))
    const init = { method, signal, headers: { ...headers, ...signature }, ...(sent && { body: sent }) }
    let at = url
    for (let hops = 0; ; hops += 1) {
      const [ourClock, from] = [Date.now(), performance.now()]
      const response = await fetch.fetch(at, init)
      if (began === undefined) {
        const date = Date.parse(response.headers.get('date') ?? '')
        began = Number.isNaN(date) ? ourClock : date - (performance.now() - from)
      }
      const to = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (to === null) return response
      await response.body?.cancel()
      const next = URL.canParse(to, at.href) ? new URL(to, at) : undefined
      // The port counts, because another port can be another server. A redirect from http to https, both at their default
      // ports, stays on the same host.
      const safer = next && (next.protocol === at.protocol || next.protocol === 'https:')
      if (!next || next.host !== at.host)
        throw new UnusableResponse(redirectProblem(next ? next.host : 'no address', scene(asked)))
      if (!safer) throw new UnusableResponse(redirectProblem(next.origin, scene(asked)))
      // The query can contain secrets of the system.
      if (method !== 'GET')
        throw new UnusableResponse(redirectedPostProblem(words(next.origin + next.pathname), scene(asked)))
      if (hops === maxRedirects) throw new UnusableResponse(redirectLoopProblem(scene(asked)))
      at = next
    }
  }

  async function once<T>(path: string, asked: RequestOptions, way: RequestMode, take: ResponseReader<T>): Promise<T> {
    const response = await exchange(buildUrl(base, path, asked.query), asked, way)
    if (response.status < 200 || response.status >= 300)
      throw new UnusableResponse(
        statusProblem(response.status, response.headers, await readErrorBody(response), scene(asked)),
      )
    return await take(response)
  }

  /** Sends a request and retries transient failures. Signs in again once if the session has ended. */
  async function request<T>(
    path: string,
    asked: RequestOptions,
    way: RequestMode,
    take: ResponseReader<T>,
  ): Promise<T> {
    const repeatable = asked.repeatable ?? (asked.method ?? 'GET') === 'GET'
    let renewed = !way.own || !connection.signIn
    for (let tried = 1; ; tried += 1) {
      signal.throwIfAborted()
      try {
        return await once(path, asked, way, take)
      } catch (error) {
        signal.throwIfAborted()
        const { problem, isRetryable, retryAfter = 0, signedOut } = toFailedRequest(error, scene(asked))
        if (signedOut && !renewed) {
          renewed = true
          session = undefined
          continue
        }
        if (!isRetryable || !repeatable || tried >= retryPolicy.attempts || retryAfter > maxRetryAfter) throw problem
        const seconds = retryDelay(retryPolicy, tried, retryAfter)
        parts.onRetry(problem, seconds)
        await waitForRetry(seconds, parts)
      }
    }
  }

  const jsonOf = (asked: RequestOptions) => async (response: Response) => {
    const type = (response.headers.get('content-type') ?? '').split(';')[0]!
    if (/html/.test(type)) throw new UnusableResponse(webPageProblem(await readErrorBody(response), scene(asked)))
    const text = await response.text()
    parts.onBytes(Buffer.byteLength(text))
    if (/^\s*<(!doctype|html)/i.test(text)) throw new UnusableResponse(webPageProblem(text, scene(asked)))
    try {
      return { json: parseJson(text, parts.maxValues), headers: response.headers }
    } catch (error) {
      if (error instanceof SourceProblem) throw error
      throw new UnusableResponse(notJsonProblem(type, scene(asked)))
    }
  }

  function open(own: boolean): HttpSession {
    const way = { own, fetch: parts.fetch }
    return {
      base,
      startedAt: () => began ?? Date.now(),
      getJson: async (path, asked = {}) => (await request(path, asked, way, jsonOf(asked))).json,
      getResponse: (path, asked = {}) => request(path, asked, way, jsonOf(asked)),
      download: (path, asked = {}) =>
        request(path, asked, { own, fetch: parts.downloads }, async (response) => {
          if (/html/.test(response.headers.get('content-type') ?? ''))
            throw new UnusableResponse(webPageProblem(await readErrorBody(response), scene(asked)))
          return await downloadToSpool(parts.directory, response, parts.onBytes)
        }),
      resolveLink: (link) => resolveLinkPath(link, base, scene()),
      forOrigin: (url) => openHttpSession({ url }, parts),
      redactText: (text) => words(text),
    }
  }
  /** Uses its own signal, so that it also runs after an abort. */
  async function signOut(): Promise<void> {
    const headers = await session?.catch(() => undefined)
    if (!headers || !connection.signOut) return
    const { url, ignoredSegments = [] } = connection
    const signal = AbortSignal.timeout(signOutTimeoutMs)
    const leaving = openHttpSession(
      { url, ignoredSegments, headers: { ...connection.headers, ...headers } },
      { ...parts, signal, retryPolicy: { ...retryPolicy, attempts: 1 } },
    )
    await connection.signOut(leaving, headers).catch(() => {})
  }
  return { ...open(true), signOut }
}

/** Waits, and reports that the process is alive every ten seconds. */
async function waitForRetry(
  seconds: number,
  { signal, onAlive }: Pick<HttpSessionOptions, 'signal' | 'onAlive'>,
): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    await sleep(Math.min(left, 10) * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
    onAlive()
  }
}

/** Lists header values with and without the authentication scheme, because servers repeat either in messages. */
const listCredentials = (headers: Readonly<Record<string, string>>): string[] =>
  Object.values(headers).flatMap((value) => [value, value.replace(/^\S+ /, '')])

function toFailedRequest(error: unknown, scene: RequestTarget): FailedRequest {
  if (error instanceof UnusableResponse) return error.refusal
  if (error instanceof OutgoingProblem) return networkProblem(error, scene)
  throw error
}

function buildUrl(base: string, path: string, query: QueryParameters = {}): URL {
  const url = new URL(path === '' || path.startsWith('?') ? `${base}${path}` : `${base}/${path.replace(/^\/+/, '')}`)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const one of typeof value === 'object' ? value : [value]) url.searchParams.append(name, String(one))
  }
  return url
}

/** Compares hosts only: systems that run at the back of a proxy do not know their public scheme and port. */
function resolveLinkPath(link: string, base: string, scene: RequestTarget): string {
  const from = new URL(`${base}/`)
  const to = URL.canParse(link, from.href) ? new URL(link, from) : undefined
  if (!to || to.hostname !== from.hostname || !`${to.pathname}/`.startsWith(from.pathname))
    throw redirectProblem(to ? to.host : 'no address', scene).problem
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
  read: (bytes: number) => void,
): Promise<DownloadedBody> {
  const descriptor = openSpool(directory)
  let size = 0
  // Reports an empty response as activity too.
  read(0)
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      for (let done = 0; done < chunk.length; )
        done += writeSync(descriptor, chunk, done, chunk.length - done, size + done)
      size += chunk.length
      read(chunk.length)
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

/** Username and password as the header `authorization` has them in HTTP's Basic scheme (RFC 7617, UTF-8). */
export const basicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
