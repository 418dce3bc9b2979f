import { type OutgoingCode, type OutgoingProblem, parseRetryAfter } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'

/** A failed request: the problem, and whether a retry can succeed. */
export interface FailedRequest {
  problem: SourceProblem
  isRetryable: boolean
  /** Seconds to wait before the next request, from Retry-After. */
  retryAfter?: number | undefined
  /** 401: a session may have ended. */
  signedOut?: boolean
}

export interface RequestTarget {
  system: string
  host: string
  redactText(text: string): string
  subject?: string | undefined
}

export function networkProblem(error: OutgoingProblem, { redactText }: RequestTarget): FailedRequest {
  const { code, message } = error
  const hint = hints[code] ?? ''
  const problem = new SourceProblem(code, redactText(`${message}${hint}`), { cause: error })
  return { problem, isRetryable: error.isTransient }
}

const hints: Partial<Record<OutgoingCode, string>> = {
  HOST_UNKNOWN: ' Check the address.',
  CONNECTION_REFUSED: ' Check the address and its port, and that no firewall blocks this server.',
  CONNECTION_TIMEOUT: ' Check that it is running, or load less at once.',
  CONNECTION_LOST: ' Try again. If it happens again, check the server and the network.',
  CERTIFICATE_NOT_TRUSTED: ' Install a certificate on the server that is valid for its name.',
  OTHER_PROTOCOL: ' Check the address and its port.',
  ANSWER_TOO_LARGE: ' Load less at once.',
}

export function statusProblem(status: number, headers: Headers, text: string, target: RequestTarget): FailedRequest {
  const { system, host, redactText, subject } = target
  const errorText = findErrorText(text)
  const says = errorText ? ` It says: ${redactText(errorText)}` : ''
  const place = `${system} at ${host}`
  const server = capitalizeArticle(place)
  const retryAfter = parseRetryAfter(headers)
  const failure = (code: string, message: string, details: Partial<FailedRequest> = {}): FailedRequest => ({
    problem: new SourceProblem(code, `${message}${says}`),
    isRetryable: false,
    ...details,
  })
  switch (status) {
    case 401:
      return failure(
        'AUTHENTICATION_FAILED',
        `${server} rejected the credentials (401). Check the user and password, or the token, and that it has not expired.`,
        { signedOut: true },
      )
    case 403:
      return failure(
        'PERMISSION_DENIED',
        `The account may not read ${subject ?? 'this'} from ${place} (403). Grant it access, or use another account.`,
      )
    case 404:
    case 410:
      return failure(
        'NOT_FOUND',
        subject
          ? `${subject} does not exist at ${isSame(subject, system) ? host : place}, or the account may not see it (${status}). Select another one.`
          : `${server} has nothing at this address (${status}). Check the address.`,
      )
    case 429:
      return failure(
        'RATE_LIMITED',
        `${server} limits the rate of requests (429)${describePause(retryAfter)}. Load less often.`,
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

const describeFailure = (place: string, status: number): string =>
  `${place} failed (${status}). Check the system, then run again.`

/** Whether the requested thing is the system itself, such as `the function`. The message then names the host as its place. */
const isSame = (subject: string, system: string): boolean => subject.toLowerCase().startsWith(system.toLowerCase())

const capitalizeArticle = (text: string): string => text.replace(/^the /, 'The ')

function describePause(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 1) return ''
  return seconds < 120
    ? ` and requests a pause of ${Math.ceil(seconds)} seconds`
    : ` and requests a pause of ${Math.ceil(seconds / 60)} minutes`
}

/** An HTML page instead of data, often a sign-in form. */
export function webPageProblem(text: string, { system, host }: RequestTarget): FailedRequest {
  const isSignInPage = /type\s*=\s*["']?password|name\s*=\s*["']?(password|j_password)|log ?in/i.test(text)
  if (!isSignInPage)
    return failedFor('OTHER_PROTOCOL', `${host} returned a web page instead of data of ${system}. Check the address.`)
  const message = `${host} returned a sign-in page, so ${system} rejected the credentials. Check the user and password, or the token, and the address.`
  return { ...failedFor('AUTHENTICATION_FAILED', message), signedOut: true }
}

const failedFor = (code: string, message: string): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem(code, message),
})

export const notJsonProblem = (type: string, { system, host }: RequestTarget): FailedRequest =>
  failedFor(
    'OTHER_PROTOCOL',
    `${host} returned ${type || 'something'} instead of JSON, so it is not the API of ${system}. Check the address.`,
  )

export const redirectProblem = (to: string, { system, host }: RequestTarget): FailedRequest =>
  failedFor(
    'REDIRECTED',
    `${host} redirects to ${to}. Sluice does not follow, because the credentials of ${system} would be sent there. Enter that address if it is the right one.`,
  )

/** The problem of a POST that the same host redirects, because its body is not sent to the new address. */
export const redirectedPostProblem = (to: string, { host }: RequestTarget): FailedRequest =>
  failedFor(
    'REDIRECTED',
    `${host} redirects to another of its addresses, ${to}. Sluice does not send data to the target of a redirect. Enter that address if it is the right one.`,
  )

export const redirectLoopProblem = ({ host }: RequestTarget): FailedRequest =>
  failedFor('REDIRECTED', `${host} redirects from one of its addresses to the next. Check the address.`)

const errorTextKeys = [
  'detail',
  'message',
  'error_description',
  'description',
  'title',
  'error',
  'reason',
  'diagnostics',
  // Fields of AWS errors.
  'Message',
  'errorMessage',
]

/** Finds the error message in a JSON or plain text response. */
export function findErrorText(text: string): string | undefined {
  if (/^\s*</.test(text)) return undefined
  try {
    return findErrorValue(JSON.parse(text))
  } catch {
    return text.trim() || undefined
  }
}

function findErrorValue(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined
  if (typeof value !== 'object' || value === null || depth > 4) return undefined
  if (Array.isArray(value)) return findErrorValue(value[0], depth + 1)
  const fields = value as Record<string, unknown>
  for (const key of [...errorTextKeys, 'issue', 'errors', 'details']) {
    const text = key in fields ? findErrorValue(fields[key], depth + 1) : undefined
    if (text) return text
  }
  return undefined
}
