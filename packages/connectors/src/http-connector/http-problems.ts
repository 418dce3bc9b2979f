import type { OutgoingCode, OutgoingProblem } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { maxRetryAfter, parseRetryAfter } from './retry-policy.ts'

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
  return { problem, isRetryable: error.passes }
}

const hints: Partial<Record<OutgoingCode, string>> = {
  HOST_UNKNOWN: ' Check the address.',
  CONNECTION_REFUSED: ' Check the address and its port, and that a firewall lets this server in.',
  CONNECTION_TIMEOUT: ' Check that it is up, or ask it for less at once.',
  CONNECTION_LOST: ' Try again; if it stays so, look at the server, and at what is between.',
  CERTIFICATE_NOT_TRUSTED: ' Give the server a certificate that is valid for its name.',
  OTHER_PROTOCOL: ' Check the address and its port.',
  ANSWER_TOO_LARGE: ' Narrow down what is loaded.',
}

export function statusProblem(status: number, headers: Headers, text: string, scene: RequestTarget): FailedRequest {
  const { system, host, redactText, subject } = scene
  const said = findErrorText(text)
  const says = said ? ` It says: ${redactText(said)}` : ''
  const at = `${system} at ${host}`
  const who = capitalizeArticle(at)
  const made = (
    code: string,
    sentence: string,
    more: Omit<FailedRequest, 'problem' | 'isRetryable'> = {},
    isRetryable = false,
  ): FailedRequest => ({
    problem: new SourceProblem(code, `${sentence}${says}`),
    isRetryable,
    ...more,
  })
  const after = parseRetryAfter(headers)
  switch (status) {
    case 401:
      return made(
        'AUTHENTICATION_FAILED',
        `${who} refuses who is asking (401): check the user and password, or the token, and that it has not expired.`,
        { signedOut: true },
      )
    case 403:
      return made(
        'PERMISSION_DENIED',
        `The account may not read ${subject ?? 'this'} from ${at} (403): give it the right to, or use another account.`,
      )
    case 404:
    case 410:
      return made(
        'NOT_FOUND',
        subject
          ? `${subject} is not at ${isSame(subject, system) ? host : at}, or the account may not see it (${status}): choose another one.`
          : `${who} has nothing at this address (${status}): check the address.`,
      )
    case 429:
      return made(
        'RATE_LIMITED',
        `${who} asks to be left alone${describeRetryAfter(after)} (429): load less often.`,
        { retryAfter: after },
        true,
      )
    case 408:
    case 425:
    case 500:
    case 502:
    case 503:
    case 504:
      return made(
        'SOURCE_FAILED',
        `${who} fails (${status}): look what is wrong there, then run again.`,
        { retryAfter: after },
        true,
      )
    default:
      return status >= 500
        ? made('SOURCE_FAILED', `${who} fails (${status}): look what is wrong there, then run again.`)
        : made('REQUEST_REFUSED', `${who} refuses what it is asked (${status}): check what is to be loaded.`)
  }
}

/** Whether the requested thing is the system itself, such as `the function`. The message then names the host as its place. */
const isSame = (what: string, system: string): boolean => what.toLowerCase().startsWith(system.toLowerCase())

const capitalizeArticle = (text: string): string => text.replace(/^the /, 'The ')

function describeRetryAfter(seconds: number | undefined): string {
  if (seconds === undefined || seconds < 1) return ''
  if (seconds <= maxRetryAfter && seconds < 120) return ` for ${Math.ceil(seconds)} seconds`
  return ` for ${Math.ceil(seconds / 60)} minutes`
}

/** An HTML page instead of data, often a sign-in form. */
export function webPageProblem(text: string, { system, host }: RequestTarget): FailedRequest {
  const form = /type\s*=\s*["']?password|name\s*=\s*["']?(password|j_password)|log ?in/i.test(text)
  return {
    isRetryable: false,
    signedOut: form,
    problem: form
      ? new SourceProblem(
          'AUTHENTICATION_FAILED',
          `${host} answers with a page to sign in: ${system} refuses who is asking. Check the user and password, or the token, and the address.`,
        )
      : new SourceProblem(
          'OTHER_PROTOCOL',
          `${host} answers with a web page where the data of ${system} should be: check the address.`,
        ),
  }
}

export const notJsonProblem = (type: string, { system, host }: RequestTarget): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem(
    'OTHER_PROTOCOL',
    `What ${host} answers is no JSON${type ? ` but ${type}` : ''}, so it is not the API of ${system}: check the address.`,
  ),
})

export const redirectProblem = (to: string, { system, host }: RequestTarget): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem(
    'REDIRECTED',
    `${host} leads to ${to}, which is not asked since the credentials of ${system} would go there: type that address, if it is the right one.`,
  ),
})

/** The problem of a POST that the same host redirects, because its body is not sent to the new address. */
export const redirectedPostProblem = (to: string, { host }: RequestTarget): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem(
    'REDIRECTED',
    `${host} leads to another of its addresses, ${to}, and what is sent to one address is not sent on to another: type that address, if it is the right one.`,
  ),
})

export const redirectLoopProblem = ({ host }: RequestTarget): FailedRequest => ({
  isRetryable: false,
  problem: new SourceProblem('REDIRECTED', `${host} leads from one of its addresses to the next: check the address.`),
})

const errorTextKeys = [
  'detail',
  'message',
  'error_description',
  'description',
  'title',
  'error',
  'reason',
  'diagnostics',
]
  // Fields of AWS errors.
  .concat('Message', 'errorMessage')

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
    const sentence = key in fields ? findErrorValue(fields[key], depth + 1) : undefined
    if (sentence) return sentence
  }
  return undefined
}
