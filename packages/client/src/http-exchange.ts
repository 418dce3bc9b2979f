import type { Readable } from 'node:stream'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { ajvWith, ProblemDocument, type Contract, type OperationSignature } from '@sluice/contracts'
import { RemoteProblem, ServiceUnavailable } from './errors.ts'

export type UploadBody = ReadableStream<Uint8Array> | Readable | AsyncIterable<Uint8Array>

export interface HttpRequest {
  url: URL
  method: string
  headers: Headers
  body?: string | AsyncIterable<Uint8Array>
}

interface HttpResponse {
  status: number
  headers: Headers
  text: string
}

/** Bytes. More than any page of results needs, less than would exhaust the memory of this process. */
const maxResponseBytes = 256 * 1024 * 1024

/**
 * Sends one request and returns its whole response. Throws `ServiceUnavailable` (`unreachable`, `timed-out` when `timeout` aborts,
 * and `overloaded` for 502, 503 and 504, which mean that nothing was done), the error of the body's source, or the reason of
 * `caller` if that signal aborted the request.
 */
export async function sendRequest(
  { url, method, headers, body }: HttpRequest,
  timeout: AbortSignal | undefined,
  caller: AbortSignal | undefined,
): Promise<HttpResponse> {
  const source = typeof body === 'object' ? watchSource(body) : undefined
  try {
    const response = await fetch(url, {
      method,
      headers,
      signal: AbortSignal.any([timeout, caller].filter((signal) => signal !== undefined)),
      // A service never redirects, and following a redirect would send the token to an unknown host.
      redirect: 'manual',
      ...(body !== undefined && { body: source?.chunks ?? body, duplex: 'half' }),
    } as RequestInit)
    const { status } = response
    const answer = { status, headers: response.headers, text: await readBodyText(response, url) }
    if (status < 502 || status > 504) return answer
    const problem = parseProblem(answer)
    throw new ServiceUnavailable('overloaded', problem?.detail ?? `It answers ${status}.`, { problem })
  } catch (error) {
    if (caller?.aborted) throw caller.reason
    if (source?.failed()) throw source.failed()?.error
    if (error instanceof ServiceUnavailable) throw error
    if (timeout?.aborted) throw new ServiceUnavailable('timed-out', `${url.origin} did not respond in time.`)
    throw new ServiceUnavailable('unreachable', `${url.origin} cannot be reached: ${innermostMessage(error)}.`, {
      cause: error,
    })
  }
}

async function readBodyText(response: Response, url: URL): Promise<string> {
  if (!response.body) return ''
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > maxResponseBytes)
      throw new ServiceUnavailable(
        'malformed-answer',
        `The response of ${url.origin} is larger than ${maxResponseBytes} bytes.`,
      )
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Distinguishes an error of the source from an error of the service. */
function watchSource(source: AsyncIterable<Uint8Array>) {
  let failure: { error: unknown } | undefined
  async function* chunks() {
    try {
      yield* source
    } catch (error) {
      failure = { error }
      throw error
    }
  }
  return { chunks: chunks(), failed: () => failure }
}

/** Returns the innermost cause, because fetch only reports "fetch failed". */
function innermostMessage(error: unknown): string {
  let inner = error as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }
  while (inner.cause) inner = inner.cause as typeof inner
  const { message, code } = inner.errors?.[0] ?? inner
  return message || code || String(error)
}

/** Returns the body that the signature declares. Throws `RemoteProblem`, or `ServiceUnavailable` for an unexpected response. */
export function bodyOf<Response>(
  { id, response }: OperationSignature<string, any, any, Response>,
  { status, headers, text }: HttpResponse,
): Response {
  if (status >= 400) throw new RemoteProblem(parseProblem({ status, headers, text }) ?? undocumentedProblem(id, status))
  if (status < 200 || status > 299) throw malformedResponse(id, `status ${status}`)
  if (!response) return undefined as Response
  const checked = checkContract(response, parseJson(id, headers, text))
  if ('broken' in checked) throw malformedResponse(id, checked.broken)
  return checked.value
}

/**
 * A service can be newer than its caller: fields that the contract does not contain are removed, and all required fields must exist.
 */
const ajv = ajvWith({ removeAdditional: true })

const compiledValidators = new WeakMap<object, ValidateFunction>()

function checkContract<T>(contract: Contract<T>, value: unknown): { value: T } | { broken: string } {
  let validate = compiledValidators.get(contract)
  if (!validate) compiledValidators.set(contract, (validate = ajv.compile(contract)))
  if (validate(value)) return { value: value as T }
  const [{ instancePath, message } = { instancePath: '', message: '' }] = validate.errors ?? []
  return { broken: `${instancePath || '/'} ${message}` }
}

function parseJson(id: string, headers: Headers, text: string): unknown {
  const type = headers.get('content-type') ?? 'nothing'
  if (!/^application\/json\b/i.test(type)) throw malformedResponse(id, `${type} instead of JSON`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw malformedResponse(id, 'the body is not JSON', cause)
  }
}

function parseProblem({ headers, text }: HttpResponse): ProblemDocument | undefined {
  if (!/^application\/problem\+json\b/i.test(headers.get('content-type') ?? '')) return undefined
  try {
    const checked = checkContract(ProblemDocument, JSON.parse(text))
    return 'value' in checked ? checked.value : undefined
  } catch {
    return undefined
  }
}

/** Returns the problem for a response that is not a problem of the service, usually because a proxy rejected the request. */
const undocumentedProblem = (id: string, status: number): ProblemDocument => ({
  type: `urn:problem:http-${status}`,
  title: `${id} was refused.`,
  status,
  detail: `The response to ${id} has status ${status} and no problem document.`,
  code: `http-${status}`,
})

const malformedResponse = (id: string, what: string, cause?: unknown) =>
  new ServiceUnavailable('malformed-answer', `The response to ${id} does not match its contract: ${what}.`, { cause })
