import { BodySourceError, type ProblemDocument, RemoteProblem, ServiceUnavailable } from './service-errors.ts'
import type { CallInput, Operation, OptionalInput, UntypedInput } from './operation.ts'

/** Sends a request and returns its response, like the global `fetch`. */
export type RequestTransport = (url: URL, init: RequestInit) => Promise<Response>

/**
 * Returns the access token for a request, or undefined to send none. After a service has rejected a token, the function
 * is called with that token and may return another one, with which the request is repeated.
 */
export type TokenSource = (rejected?: string) => string | undefined | Promise<string | undefined>

interface ServiceClientOptions {
  /** The address of the service without `/api/v1`, such as `https://data.example.org`. */
  baseUrl: string
  /** An API token, or the `token` function of a session. Without it, the client is anonymous. */
  token?: string | TokenSource
  /** Returns headers for every request. */
  headers?: () => Record<string, string>
  /** Milliseconds for each attempt, until the last byte of the response. Uploads have no limit. Default: 30,000. */
  timeout?: number
}

/** A response with its status and headers, such as `etag` and `x-total-count`. */
export interface ServiceResponse<Result> {
  status: number
  headers: Headers
  body: Result
}

interface SendOptions {
  transport?: RequestTransport
  /** Whether the request can be sent again with another token. Default: true. */
  replay?: boolean
}

/**
 * A client of one service. Every method throws `RemoteProblem` if the service rejects the request, `ServiceUnavailable`
 * if no usable response arrives, and the signal's reason on abort. A read is repeated once if the service is
 * unreachable or overloaded.
 */
export interface ServiceClient {
  /** Returns the body of the response, or undefined for an operation without one. */
  call<Path extends string, Query, Body, Result>(
    operation: Operation<Path, Query, Body, Result>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<Result>
  /** Returns the body of the response with its status and headers. */
  request<Path extends string, Query, Body, Result>(
    operation: Operation<Path, Query, Body, Result>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<ServiceResponse<Result>>
  /** Returns the response as soon as its headers have arrived. Use it for files and streams. */
  fetch<Path extends string, Query, Body>(
    operation: Operation<Path, Query, Body>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<Response>
  /** Sends the request with another transport, which adds its own body. */
  send<Result>(operation: Operation, input: UntypedInput, options?: SendOptions): Promise<ServiceResponse<Result>>
}

export const formType = 'multipart/form-data'
const defaultTimeoutMs = 30_000
const retryDelayMs = 200

/** Creates a client. Connects at the first request. Throws `TypeError` for an invalid address. */
export function serviceClient(options: ServiceClientOptions): ServiceClient {
  const { baseUrl, token, timeout = defaultTimeoutMs } = options
  if (
    !URL.canParse(baseUrl, browserLocation?.href) ||
    !/^https?:$/.test(new URL(baseUrl, browserLocation?.href).protocol)
  )
    throw new TypeError(`baseUrl must be an address such as https://data.example.org, not "${baseUrl}".`)
  const findToken: TokenSource = typeof token === 'function' ? token : () => token

  /**
   * Sends a request and reads its response. Repeats it once with a renewed token if the service rejected the token, and
   * once after an outage if the operation only reads.
   */
  async function exchange<T>(
    operation: Operation,
    input: UntypedInput,
    read: (response: Response) => Promise<T> | T,
    { transport = fetchWith, replay = true }: SendOptions = {},
  ): Promise<T> {
    const url = buildOperationUrl(baseUrl, operation, input)
    const attempt = (bearer: string | undefined) => {
      const init = buildRequestInit(operation, input, { ...options.headers?.(), ...authorization(bearer) })
      const limits = { timeout: operation.upload ? undefined : timeout, signal: input.signal }
      return attemptExchange(() => formatOperationName(operation), url, init, limits, transport, read)
    }
    const bearer = await findToken()
    try {
      return await attempt(bearer)
    } catch (error) {
      if (replay && bearer !== undefined && isTokenRejected(error)) {
        const renewed = await findToken(bearer)
        if (renewed !== undefined && renewed !== bearer) return attempt(renewed)
      }
      if (!isRead(operation) || !isOutage(error)) throw error
      await pause(retryDelayMs, input.signal)
      return attempt(bearer)
    }
  }

  const request = (operation: Operation, input: UntypedInput, send?: SendOptions) =>
    exchange(operation, input, (response) => readResponse(operation, response), send)

  return {
    call: async (operation, ...[input = {}]) => (await request(operation, input)).body,
    request: (operation, ...[input = {}]) => request(operation, input),
    fetch: (operation, ...[input = {}]) => exchange(operation, input, (response) => response),
    send: request,
  }
}

/**
 * Returns whether the service was not reachable, or did nothing because of overload. A time-out does not count, because
 * a retry would slow the service down further.
 */
export const isOutage = (error: unknown): boolean =>
  error instanceof ServiceUnavailable && (error.reason === 'unreachable' || error.reason === 'overloaded')

const isTokenRejected = (error: unknown): boolean =>
  error instanceof RemoteProblem && error.status === 401 && error.code === 'unauthenticated'

const isRead = ({ method, effect }: Operation): boolean => (effect === undefined ? method === 'get' : effect === 'read')

const formatOperationName = ({ method, path }: Operation): string => `${method.toUpperCase()} ${path}`

const fetchWith: RequestTransport = (url, init) => fetch(url, init)

/** Resolves after this time. Rejects with the signal's reason if it aborts first. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

interface AttemptLimits {
  timeout: number | undefined
  signal: AbortSignal | undefined
}

/**
 * Sends the request once and reads its response within the time limit. `formatName` formats the operation's name for
 * error messages.
 */
async function attemptExchange<T>(
  formatName: () => string,
  url: URL,
  init: RequestInit,
  { timeout, signal }: AttemptLimits,
  transport: RequestTransport,
  read: (response: Response) => Promise<T> | T,
): Promise<T> {
  const timedOut = new AbortController()
  const timer = timeout === undefined ? undefined : setTimeout(() => timedOut.abort(), timeout)
  try {
    const response = await transport(url, {
      ...init,
      signal: signal ? AbortSignal.any([signal, timedOut.signal]) : timedOut.signal,
    })
    if (!response.ok) throw await toResponseError(formatName(), response)
    return await read(response)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    // The source of an uploaded file failed, so its error is thrown unchanged.
    if (error instanceof BodySourceError) throw error.cause
    const isClientError = error instanceof RemoteProblem || error instanceof ServiceUnavailable
    if (isClientError) throw error
    if (timedOut.signal.aborted) throw new ServiceUnavailable('timed-out', `${url.origin} did not respond in time.`)
    throw new ServiceUnavailable('unreachable', unreachableMessage(url, error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** The address of the current page in a browser. */
const browserLocation = (globalThis as { location?: { href: string; origin: string } }).location

/**
 * Returns the message for an unreachable service. Browsers hide the reason from pages; the most frequent one is that
 * the service does not allow the page's origin.
 */
function unreachableMessage({ origin }: URL, error: unknown): string {
  const isCrossOrigin = browserLocation !== undefined && browserLocation.origin !== origin
  const advice = isCrossOrigin ? ` If the service runs, add ${browserLocation.origin} to its setting CORS_ORIGINS.` : ''
  return `${origin} cannot be reached: ${innermostMessage(error)}.${advice}`
}

/** Returns the message of the innermost cause, because Node's fetch only reports "fetch failed". */
function innermostMessage(error: unknown): string {
  let inner = error as Error & { code?: string; errors?: (Error & { code?: string })[] }
  while (inner.cause) inner = inner.cause as typeof inner
  const { message, code } = inner.errors?.[0] ?? inner
  return message || code || String(error)
}

/**
 * Returns the error for a response that is not successful. A redirect counts as malformed, 502 to 504 as an overload,
 * and all other statuses as a problem of the request.
 */
async function toResponseError(name: string, response: Response): Promise<Error> {
  const { status, headers } = response
  if (status < 400) {
    await response.body?.cancel()
    return malformedResponse(name, status === 0 ? 'a redirect' : `status ${status}`)
  }
  const problem = parseProblem(headers, await response.text())
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfter = Number.isNaN(seconds) ? undefined : seconds
  const isOverloaded = status >= 502 && status <= 504
  if (!isOverloaded) return new RemoteProblem(problem ?? undocumentedProblem(name, status), retryAfter)
  return new ServiceUnavailable('overloaded', problem?.detail ?? `${name} has status ${status}.`, {
    problem,
    retryAfter,
  })
}

function parseProblem(headers: Headers, text: string): ProblemDocument | undefined {
  if (!isMediaType(headers, 'application/problem+json')) return undefined
  try {
    const problem = JSON.parse(text) as ProblemDocument
    return typeof problem.status === 'number' && typeof problem.title === 'string' ? problem : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the problem for an error response that is not a problem document, usually because a proxy rejected the
 * request.
 */
const undocumentedProblem = (name: string, status: number): ProblemDocument => ({
  type: `urn:problem:http-${status}`,
  title: `${name} was refused.`,
  status,
  detail: `The response to ${name} has status ${status} and no error document of the service. A proxy in between may have rejected the request: check its log.`,
  code: `http-${status}`,
})

async function readResponse(operation: Operation, response: Response): Promise<ServiceResponse<any>> {
  const { status, headers } = response
  const text = await response.text()
  return {
    status,
    headers,
    body: status === 204 ? undefined : parseBody(formatOperationName(operation), headers, text),
  }
}

function parseBody(name: string, headers: Headers, text: string): unknown {
  if (!isMediaType(headers, 'application/json'))
    throw malformedResponse(name, `${headers.get('content-type') ?? 'no media type'} instead of JSON`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformedResponse(name, 'the body is not JSON', cause)
  }
}

const isMediaType = (headers: Headers, type: string): boolean =>
  headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === type

export const malformedResponse = (name: string, what: string, cause?: unknown): ServiceUnavailable =>
  new ServiceUnavailable('malformed-answer', `The response to ${name} is not one of this version of Sluice: ${what}.`, {
    cause,
  })

const authorization = (bearer: string | undefined): Record<string, string> =>
  bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }

/** Returns the method, headers and JSON body of a request. The headers of the input replace the common headers. */
function buildRequestInit(
  { method, events: respondsWithEvents, upload: uploadMediaType }: Operation,
  { body, headers }: UntypedInput,
  commonHeaders: Record<string, string>,
): RequestInit {
  const jsonMediaType = body === undefined ? undefined : 'application/json'
  const mediaType = uploadMediaType ?? jsonMediaType
  const allHeaders = new Headers({
    accept: `${respondsWithEvents ? 'text/event-stream' : 'application/json'}, application/problem+json`,
  })
  // For a form, the runtime sets the media type, because it contains the separator of the form's parts.
  if (mediaType && mediaType !== formType) allHeaders.set('content-type', mediaType)
  for (const [name, value] of Object.entries({ ...commonHeaders, ...headers })) allHeaders.set(name, value)
  return {
    method: method.toUpperCase(),
    headers: allHeaders,
    // The services never redirect these requests, and following a redirect would send the token to an unknown host.
    redirect: 'manual',
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
}

/**
 * Returns the URL of an operation. Throws `TypeError` for a path parameter that is missing or would change the path.
 */
function buildOperationUrl(baseUrl: string, operation: Operation, { params = {}, query = {} }: UntypedInput): URL {
  const path = operation.path.replaceAll(/:(\w+)/g, (_match, name: string) =>
    encodePathSegment(operation, name, (params as Record<string, string>)[name]),
  )
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/v1${path}`, browserLocation?.href)
  for (const [name, value] of Object.entries(query as object)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) url.searchParams.append(name, String(item))
    }
  }
  return url
}

/**
 * Returns a value as a percent-encoded path segment. Throws for `.` and `..`, because URLs resolve them even if they
 * are encoded as `%2e%2e`.
 */
function encodePathSegment(operation: Operation, name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^$|^\.\.?$/.test(value))
    throw new TypeError(
      `${formatOperationName(operation)} needs the path parameter "${name}", and ${JSON.stringify(value)} cannot be one.`,
    )
  return encodeURIComponent(value)
}
