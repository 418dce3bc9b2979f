import { type GuardedFetch, OutgoingProblem } from '@sluice/http/guarded-fetch'
import { headersOf, nothingToSignInWith } from '../../dhis2/requests.ts'
import { wordsWithout } from '../../redact-secrets.ts'
import { DestinationProblem } from '../destination-problem.ts'
import { type Target, baseUrl } from '../target.ts'
import { messageOf } from './import-summary.ts'

type Parameters = Readonly<Record<string, string | undefined>>

/** One DHIS2, asked as somebody. Every method throws `DestinationProblem`, or the signal's reason. */
export interface Dhis2 {
  /** Below /api. Answers the parsed JSON. */
  get(path: string, parameters: Parameters, signal: AbortSignal): Promise<unknown>
  /** Sends JSON; a 409 is an answer too, for that is how import summaries with conflicts come. */
  post(path: string, parameters: Parameters, body: string, signal: AbortSignal): Promise<unknown>
  /** A text that it sent, without the secrets it may have sent back. */
  words(text: string): string
}

/** A variable may have made the address what nobody could check when it was saved. */
function hostOf(url: string): string {
  if (URL.canParse(baseUrl(url))) return new URL(baseUrl(url)).host
  throw new DestinationProblem(
    'ADDRESS_INVALID',
    'The address of the target is invalid. Check it, and the variables used in it.',
  )
}

export function dhis2(http: Pick<GuardedFetch, 'fetch'>, target: Target): Dhis2 {
  const host = hostOf(target.url)
  const signedIn = demandHeaders(target)
  const { username = '', password = '', authToken = '' } = target
  const words = wordsWithout([password, authToken, `${username}:${password}`])

  async function ask(
    method: 'GET' | 'POST',
    path: string,
    parameters: Parameters,
    body?: string,
    signal?: AbortSignal,
  ) {
    try {
      const response = await http.fetch(addressOf(target.url, path, parameters), {
        method,
        headers: {
          ...signedIn,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      })
      return answered({ status: response.status, headers: response.headers, text: await response.text(), host, words })
    } catch (error) {
      signal?.throwIfAborted()
      throw ofNetwork(error)
    }
  }

  return {
    words,
    get: (path, parameters, signal) => ask('GET', path, parameters, undefined, signal),
    post: (path, parameters, body, signal) => ask('POST', path, parameters, body, signal),
  }
}

function ofNetwork(error: unknown): unknown {
  if (!(error instanceof OutgoingProblem)) return error
  const { code, message } = error
  const more =
    code === 'REDIRECTED'
      ? ' Type the address that it leads to, or check that DHIS2 and not its login page is there.'
      : ''
  return new DestinationProblem(code, message + more, {
    retryable: error.passes,
    tooMuch: code === 'CONNECTION_TIMEOUT',
    cause: error,
  })
}

function addressOf(url: string, path: string, parameters: Parameters): URL {
  const address = new URL(`${baseUrl(url)}/api/${path}`)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) address.searchParams.set(name, value)
  return address
}

/** Throws where there is nothing to sign in with. */
function demandHeaders(target: Target): Record<string, string> {
  const headers = headersOf(target)
  if (!headers) throw new DestinationProblem('CREDENTIALS_MISSING', nothingToSignInWith)
  return headers
}

interface Answer {
  status: number
  headers: Headers
  text: string
  host: string
  /** The server's words as they may be shown. */
  words(text: string): string
}

/** The JSON of an answer that is one: those of success, and 409, by which summaries with conflicts come. Throws for all others. */
function answered(answer: Answer): unknown {
  const { status, headers, text, host } = answer
  const json = parsed(text)
  if ((status >= 200 && status < 300) || status === 409) {
    if (json !== undefined) return json
    const page = /html/.test(headers.get('content-type') ?? '') || /^\s*</.test(text)
    throw new DestinationProblem(
      'OTHER_PROTOCOL',
      `${host} answers with ${page ? 'a web page' : 'something that is no JSON'} where DHIS2's API should be: check the address, up to but without /api.`,
    )
  }
  throw refusal(answer, json)
}

function refusal({ status, headers, host, words }: Answer, json: unknown): DestinationProblem {
  const said = messageOf(json)
  const says = said ? ` It says: ${words(said)}` : ''
  const retryAfter = secondsOf(headers.get('retry-after'))
  switch (status) {
    case 401:
      return new DestinationProblem(
        'AUTHENTICATION_FAILED',
        `DHIS2 at ${host} does not take the username and password, or the token (401): check them, and that a token has not expired.${says}`,
      )
    case 403:
      return new DestinationProblem(
        'PERMISSION_DENIED',
        `The user of DHIS2 at ${host} may not do this (403): to import takes the authority F_DATAVALUE_ADD and write access to the data sets and organisation units.${says}`,
      )
    case 404:
      return new DestinationProblem(
        'NOT_FOUND',
        `There is no DHIS2 API at this address of ${host} (404): check the path, up to but without /api.${says}`,
      )
    case 413:
      return new DestinationProblem(
        'TOO_LARGE',
        `${host} takes no request as large as this (413): have its proxy take larger ones.${says}`,
        { tooMuch: true },
      )
    case 429:
      return new DestinationProblem('TARGET_BUSY', `${host} asks to be left alone for now (429).${says}`, {
        retryable: true,
        retryAfter,
      })
    case 408:
    case 504:
      return new DestinationProblem('TARGET_TIMEOUT', `${host} did not finish in time (${status}).${says}`, {
        retryable: true,
        tooMuch: true,
        retryAfter,
      })
    default:
      return status >= 500
        ? new DestinationProblem('TARGET_FAILED', `DHIS2 at ${host} fails (${status}).${says}`, {
            retryable: true,
            retryAfter,
          })
        : new DestinationProblem('TARGET_REFUSED', `DHIS2 at ${host} refuses what it is asked (${status}).${says}`)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Seconds, whole or not, or a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000)
}
