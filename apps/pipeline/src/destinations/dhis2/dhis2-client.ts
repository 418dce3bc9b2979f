import { type SsrfSafeFetch, OutgoingProblem, parseRetryAfter } from '@sluice/http-client'
import { createAuthHeaders, missingCredentials } from '@sluice/connectors/dhis2/dhis2-api'
import { secretRedactor } from '@sluice/process'
import { DestinationProblem } from '../destination-problem.ts'
import { type Target, baseUrl } from '../push-target.ts'
import { findErrorMessage } from './import-summary.ts'

type QueryParameters = Readonly<Record<string, string | undefined>>

/** A client for one DHIS2 server and one account. Every method throws `DestinationProblem`, or the signal's reason. */
export interface Dhis2Api {
  /** Sends a GET request to a path below /api, and returns the parsed JSON. */
  get(path: string, parameters: QueryParameters, signal: AbortSignal): Promise<unknown>
  /**
   * Sends JSON and returns the parsed response. Accepts the status 409 too, because import summaries with conflicts
   * have it.
   */
  post(path: string, parameters: QueryParameters, body: string, signal: AbortSignal): Promise<unknown>
  /** Removes the target's secrets from a text of the server, which may repeat them. */
  redact(text: string): string
}

/**
 * Returns the host of an address. Throws `DestinationProblem` for an invalid address, which can result from the
 * value of a variable.
 */
function parseHost(url: string): string {
  if (URL.canParse(baseUrl(url))) return new URL(baseUrl(url)).host
  throw new DestinationProblem(
    'ADDRESS_INVALID',
    'The address of the target is invalid. Check it, and the variables used in it.',
  )
}

/** Returns a client for the API of a DHIS2 server. Opens no connection before the first request. */
export function createDhis2Client(http: Pick<SsrfSafeFetch, 'fetch'>, target: Target): Dhis2Api {
  const host = parseHost(target.url)
  const credentialHeaders = authorizationHeaders(target)
  const { username = '', password = '', authToken = '' } = target
  const redact = secretRedactor([password, authToken, `${username}:${password}`])

  async function request(
    method: 'GET' | 'POST',
    path: string,
    parameters: QueryParameters,
    body?: string,
    signal?: AbortSignal,
  ) {
    try {
      const response = await http.fetch(buildUrl(target.url, path, parameters), {
        method,
        headers: {
          ...credentialHeaders,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      })
      return parseResponse({
        status: response.status,
        headers: response.headers,
        text: await response.text(),
        host,
        redact,
      })
    } catch (error) {
      signal?.throwIfAborted()
      throw toDestinationProblem(error)
    }
  }

  return {
    redact,
    get: (path, parameters, signal) => request('GET', path, parameters, undefined, signal),
    post: (path, parameters, body, signal) => request('POST', path, parameters, body, signal),
  }
}

/** Converts a problem of an outgoing request. Returns any other error unchanged. */
function toDestinationProblem(error: unknown): unknown {
  if (!(error instanceof OutgoingProblem)) return error
  const { code, message } = error
  const moreText =
    code === 'REDIRECTED'
      ? ' Enter the address that it redirects to, or check that this is DHIS2 and not its login page.'
      : ''
  return new DestinationProblem(code, message + moreText, {
    retryable: error.isTransient,
    maySucceedIfSmaller: code === 'CONNECTION_TIMEOUT',
    cause: error,
  })
}

function buildUrl(url: string, path: string, parameters: QueryParameters): URL {
  const address = new URL(`${baseUrl(url)}/api/${path}`)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) address.searchParams.set(name, value)
  return address
}

/** Throws `DestinationProblem` if the target has no credentials. */
function authorizationHeaders(target: Target): Record<string, string> {
  const headers = createAuthHeaders(target)
  if (!headers) throw new DestinationProblem('CREDENTIALS_MISSING', missingCredentials)
  return headers
}

interface Dhis2Response {
  status: number
  headers: Headers
  text: string
  host: string
  /** Removes the target's secrets from a text of the server. */
  redact(text: string): string
}

/**
 * Returns the JSON of a response with a 2xx status or 409 (see `post`). Throws `DestinationProblem` for all other
 * responses.
 */
function parseResponse(dhis2Response: Dhis2Response): unknown {
  const { status, headers, text, host } = dhis2Response
  const json = parseJson(text)
  if ((status >= 200 && status < 300) || status === 409) {
    if (json !== undefined) return json
    const isWebPage = /html/.test(headers.get('content-type') ?? '') || /^\s*</.test(text)
    throw new DestinationProblem(
      'OTHER_PROTOCOL',
      `${host} answers with ${isWebPage ? 'a web page' : 'something other than JSON'} instead of the DHIS2 API. Enter the address without /api.`,
    )
  }
  throw createResponseProblem(dhis2Response, json)
}

function createResponseProblem({ status, headers, host, redact }: Dhis2Response, json: unknown): DestinationProblem {
  const serverMessage = findErrorMessage(json)
  const serverText = serverMessage ? ` It says: ${redact(serverMessage)}` : ''
  const retryAfter = parseRetryAfter(headers)
  switch (status) {
    case 401:
      return new DestinationProblem(
        'AUTHENTICATION_FAILED',
        `DHIS2 at ${host} rejected the username and password, or the token (401): check them, and that a token has not expired.${serverText}`,
      )
    case 403:
      return new DestinationProblem(
        'PERMISSION_DENIED',
        `The user of DHIS2 at ${host} lacks permission (403): an import needs the authority F_DATAVALUE_ADD and write access to the data sets and organisation units.${serverText}`,
      )
    case 404:
      return new DestinationProblem(
        'NOT_FOUND',
        `${host} has no DHIS2 API at this address (404). Check the path, and enter it without /api.${serverText}`,
      )
    case 413:
      return new DestinationProblem(
        'TOO_LARGE',
        `The request is too large for ${host} (413): increase the limit of its proxy.${serverText}`,
        { maySucceedIfSmaller: true },
      )
    case 429:
      return new DestinationProblem('TARGET_BUSY', `${host} limits the rate of requests (429).${serverText}`, {
        retryable: true,
        retryAfter,
      })
    case 408:
    case 504:
      return new DestinationProblem('TARGET_TIMEOUT', `${host} did not finish in time (${status}).${serverText}`, {
        retryable: true,
        maySucceedIfSmaller: true,
        retryAfter,
      })
    default:
      return status >= 500
        ? new DestinationProblem('TARGET_FAILED', `DHIS2 at ${host} failed (${status}). Check its log.${serverText}`, {
            retryable: true,
            retryAfter,
          })
        : new DestinationProblem('TARGET_REFUSED', `DHIS2 at ${host} rejected the request (${status}).${serverText}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
