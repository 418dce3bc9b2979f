import type { Readable } from 'node:stream'
import { ServiceUnavailable } from './errors.ts'

export type UploadBody = ReadableStream<Uint8Array> | Readable | AsyncIterable<Uint8Array>

export interface ExchangeRequest {
  url: URL
  method: string
  headers: Headers
  body?: string | AsyncIterable<Uint8Array>
}

/** A complete response. */
export interface RawResponse {
  status: number
  headers: Headers
  text: string
}

/** Bytes. More than any page of results needs, less than would exhaust the memory of this process. */
const largestAnswer = 256 * 1024 * 1024

/**
 * Sends one request and returns its whole response, whatever its status. Throws `ServiceUnavailable` (`unreachable`,
 * `timed-out`), the error of the body's source, or the reason of `caller` if that signal aborted the request.
 */
export async function exchange(
  { url, method, headers, body }: ExchangeRequest,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
  caller: AbortSignal | undefined,
): Promise<RawResponse> {
  const source = typeof body === 'object' ? watchSource(body) : undefined
  try {
    const response = await fetch(url, {
      method,
      headers,
      signal,
      // A service never redirects, and following a redirect would send the token to an unknown host.
      redirect: 'manual',
      ...(body !== undefined && { body: source?.chunks ?? body, duplex: 'half' }),
    } as RequestInit)
    return { status: response.status, headers: response.headers, text: await textOf(response, url) }
  } catch (error) {
    if (caller?.aborted) throw caller.reason
    if (source?.failed()) throw source.failed()?.error
    if (error instanceof ServiceUnavailable) throw error
    if (signal.aborted) throw new ServiceUnavailable('timed-out', `${url.origin} did not answer in time.`)
    throw new ServiceUnavailable('unreachable', `${url.origin} cannot be reached: ${innermost(error)}.`, {
      cause: error,
    })
  }
}

async function textOf(response: Response, url: URL): Promise<string> {
  if (!response.body) return ''
  const decoder = new TextDecoder()
  let size = 0
  let text = ''
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > largestAnswer)
      throw new ServiceUnavailable('malformed-answer', `${url.origin} answers more than ${largestAnswer} bytes.`)
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
function innermost(error: unknown): string {
  let inner = error as NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }
  while (inner.cause) inner = inner.cause as typeof inner
  const { message, code } = inner.errors?.[0] ?? inner
  return message || code || String(error)
}
