import { type OutgoingCode, type OutgoingProblem, parseRetryAfter } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'

/** The problem of a failed request, and whether a retry can succeed. */
export interface FailedRequest {
  problem: SourceProblem
  isRetryable: boolean
  /** Seconds to wait before a retry, from the header Retry-After. */
  retryAfter?: number | undefined
  /** True if a new sign-in can help, because the session may have expired. */
  isSignedOut?: boolean
}

export interface RequestTarget {
  system: string
  host: string
  redactText(text: string): string
  subject?: string | undefined
}

/** Returns the problem for a request without a response. */
export function createNetworkFailure(error: OutgoingProblem, { redactText }: RequestTarget): FailedRequest {
  const { code, message } = error
  const advice = adviceByCode[code] ?? ''
  const problem = new SourceProblem(code, redactText(`${message}${advice}`), { cause: error })
  return { problem, isRetryable: error.isTransient }
}

const adviceByCode: Partial<Record<OutgoingCode, string>> = {
  HOST_UNKNOWN: ' Check the address.',
  CONNECTION_REFUSED:
    ' Check the address and its port, and that no firewall blocks connections from the Sluice server.',
  CONNECTION_TIMEOUT: ' Check that the server is running, or select less data.',
  CONNECTION_LOST: ' Run again. If it happens again, check the server and the network.',
  CERTIFICATE_NOT_TRUSTED: ' Install a certificate on the server that is valid for its name.',
  OTHER_PROTOCOL: ' Check the address and its port.',
  ANSWER_TOO_LARGE: ' Select less data.',
}

/** Returns the problem for a response with an error status. The message includes the error text in the response. */
export function createStatusFailure(
  status: number,
  headers: Headers,
  text: string,
  target: RequestTarget,
): FailedRequest {
  const { system, host, redactText, subject } = target
  const errorText = findErrorText(text)
  const serverText = errorText ? ` It says: ${redactText(errorText)}` : ''
  const systemAndHost = `${system} at ${host}`
  const server = capitalizeArticle(systemAndHost)
  const retryAfter = parseRetryAfter(headers) ?? readRateLimitPause(headers)
  const failure = (code: string, message: string, details: Partial<FailedRequest> = {}): FailedRequest => ({
    problem: new SourceProblem(code, `${message}${serverText}`),
    isRetryable: false,
    ...details,
  })
  // Some systems respond with 403 when a rate limit is exhausted.
  const isRateLimited = status === 403 && retryAfter !== undefined && retryAfter > 0
  switch (isRateLimited ? 429 : status) {
    case 401:
      return failure(
        'AUTHENTICATION_FAILED',
        `${server} rejected the credentials (401). Check the username and password, or the token, and that they have not expired.`,
        { isSignedOut: true },
      )
    case 403:
      return failure(
        'PERMISSION_DENIED',
        `The account may not read ${subject ?? 'this'} from ${systemAndHost} (403). Grant the account access, or use another one.`,
      )
    case 404:
    case 410:
      return failure(
        'NOT_FOUND',
        subject
          ? `${subject} does not exist at ${namesSystem(subject, system) ? host : systemAndHost}, or the account may not read it (${status}). Check the name, or grant the account access.`
          : `${server} returned “not found” (${status}). Check the address.`,
      )
    case 429:
      return failure(
        'RATE_LIMITED',
        `${server} rejects requests because there were too many (${status})${describePause(retryAfter)}. Run the pipeline less often.`,
        { isRetryable: true, retryAfter },
      )
    case 408:
    case 425:
    case 500:
    case 502:
    case 503:
    case 504:
      return failure('SOURCE_FAILED', describeFailure(server, status), { isRetryable: true, retryAfter })
    default:
      return status >= 500
        ? failure('SOURCE_FAILED', describeFailure(server, status))
        : failure('REQUEST_REFUSED', `${server} rejected the request (${status}). Check the settings of the pipeline.`)
  }
}

/**
 * Returns the seconds until the rate limit resets, from `X-RateLimit-Remaining` and `X-RateLimit-Reset` (a Unix time or
 * a number of seconds). Returns undefined if requests remain or the headers are missing.
 */
function readRateLimitPause(headers: Headers): number | undefined {
  const readHeader = (name: string) => headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`)
  const reset = Number(readHeader('reset') ?? Number.NaN)
  if (readHeader('remaining') !== '0' || !Number.isFinite(reset)) return undefined
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const isUnixTime = reset > minUnixTime
  return Math.max(0, isUnixTime ? reset - now / 1_000 : reset)
}

/** A number above this is a Unix time, below it a duration in seconds. */
const minUnixTime = 1_000_000_000

const describeFailure = (systemAndHost: string, status: number): string =>
  `${systemAndHost} failed (${status}). Check the system, then run again.`

/**
 * True if the subject of a request already names the system, such as `The function`. The message then adds only the
 * host.
 */
const namesSystem = (subject: string, system: string): boolean => subject.toLowerCase().startsWith(system.toLowerCase())

const capitalizeArticle = (text: string): string => text.replace(/^the /, 'The ')

function describePause(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 1) return ''
  return seconds < 120
    ? ` and asks to wait ${Math.ceil(seconds)} seconds`
    : ` and asks to wait ${Math.ceil(seconds / 60)} minutes`
}

/** Returns the problem for a response that is an HTML page, often a login form, instead of data. */
export function createWebPageFailure(text: string, { system, host }: RequestTarget): FailedRequest {
  const isSignInPage = /type\s*=\s*["']?password|name\s*=\s*["']?(password|j_password)|log ?in/i.test(text)
  if (!isSignInPage)
    return createFailure(
      'OTHER_PROTOCOL',
      `${host} returned a web page instead of data from ${system}. Check the address.`,
    )
  const message = `${host} returned a sign-in page, so ${system} rejected the credentials. Check the address, and the username and password or the token.`
  return { ...createFailure('AUTHENTICATION_FAILED', message), isSignedOut: true }
}

const createFailure = (code: string, message: string): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem(code, message),
})

export const createNotJsonFailure = (type: string, { system, host }: RequestTarget): FailedRequest =>
  createFailure(
    'OTHER_PROTOCOL',
    `${host} returned ${type || 'other content'} instead of JSON, so it is not the API of ${system}. Check the address.`,
  )

export const createRedirectFailure = (targetHost: string, { system, host }: RequestTarget): FailedRequest =>
  createFailure(
    'REDIRECTED',
    `${host} redirects to ${targetHost}. Sluice does not follow this redirect, because it would send the credentials for ${system} to another host. If the new address is correct, enter it in the pipeline.`,
  )

/**
 * Returns the problem for a link in a response that must not be followed. `linkHost` is undefined if the link is
 * invalid.
 */
export const createForeignLinkFailure = (
  linkHost: string | undefined,
  { system, host }: RequestTarget,
): FailedRequest =>
  createFailure(
    'REDIRECTED',
    linkHost === undefined
      ? `${host} returned a link without a valid address. Check the address of the pipeline, and the paging of ${system}.`
      : `${host} returned a link to ${linkHost}. Sluice does not follow it, because it would send the credentials for ${system} to another address. If the new address is correct, enter it in the pipeline.`,
  )

/**
 * Returns the problem for a redirect, within the same host, of a request with a body. Only GET requests follow such a
 * redirect.
 */
export const createRedirectedBodyFailure = (targetUrl: string, { host }: RequestTarget): FailedRequest =>
  createFailure(
    'REDIRECTED',
    `${host} redirects the request to ${targetUrl}. Sluice does not send data to the target of a redirect. If the new address is correct, enter it in the pipeline.`,
  )

export const createRedirectLoopFailure = ({ host }: RequestTarget): FailedRequest =>
  createFailure('REDIRECTED', `${host} redirects in a loop. Check the address.`)

const maxErrorDepth = 4
const errorTextKeys = [
  'detail',
  'message',
  'error_description',
  'description',
  'title',
  'error',
  'reason',
  'diagnostics',
  // AWS uses these field names.
  'Message',
  'errorMessage',
]

/** Returns the error message in a JSON or plain text response. Returns undefined for HTML and empty responses. */
export function findErrorText(text: string): string | undefined {
  if (/^\s*</.test(text)) return undefined
  try {
    return findErrorValue(JSON.parse(text))
  } catch {
    return text.trim() || undefined
  }
}

/** Returns the first text in a JSON value, in the fields that usually contain error messages. */
function findErrorValue(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined
  if (typeof value !== 'object' || value === null || depth > maxErrorDepth) return undefined
  if (Array.isArray(value)) return findErrorValue(value[0], depth + 1)
  const fields = value as Record<string, unknown>
  for (const key of [...errorTextKeys, 'issue', 'errors', 'details']) {
    const text = key in fields ? findErrorValue(fields[key], depth + 1) : undefined
    if (text) return text
  }
  return undefined
}
