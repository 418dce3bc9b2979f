import { type GuardedFetch, OutgoingProblem } from '@sluice/http/guarded-fetch'
import { headersOf, nothingToSignInWith } from '../../dhis2/requests.ts'
import { wordsWithout } from '../../words-without.ts'
import { DestinationProblem } from '../destination-problem.ts'
import { baseUrl, type Target } from '../target.ts'
import { answered } from './refusals.ts'

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
