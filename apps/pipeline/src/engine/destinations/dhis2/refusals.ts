import { DestinationProblem } from '../destination-problem.ts'
import { messageOf } from './import-summary.ts'

interface Answer {
  status: number
  headers: Headers
  text: string
  host: string
  /** The server's words as they may be shown. */
  words(text: string): string
}

/** The JSON of an answer that is one: those of success, and 409, by which summaries with conflicts come. Throws for all others. */
export function answered(answer: Answer): unknown {
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
