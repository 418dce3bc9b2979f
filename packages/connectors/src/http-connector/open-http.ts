import { setTimeout as sleep } from 'node:timers/promises'
import { type GuardedFetch, OutgoingProblem } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import {
  type RequestOptions,
  type SystemConnection,
  type DownloadedBody,
  type HttpSession,
  type QueryParameters,
  parseBaseUrl,
} from './connection.ts'
import { parseJson } from './exact-numbers.ts'
import { type RetryPolicy, maxRetryAfter, retryDelay } from './retry-policy.ts'
import {
  type FailedRequest,
  type RequestTarget,
  notJsonProblem,
  networkProblem,
  webPageProblem,
  statusProblem,
  redirectProblem,
  redirectLoopProblem,
  redirectedPostProblem,
} from './http-problems.ts'
import { secretRedactor } from '@sluice/process'
import { closeSync, writeSync } from 'node:fs'
import { FileBytes } from '@sluice/file-formats/spool/byte-source'
import { diskProblem, openSpool } from '@sluice/file-formats/spool/spool-file'

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
