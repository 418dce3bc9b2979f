import {
  type GuardedFetch,
  guardedFetch,
  type OutgoingCode,
  OutgoingProblem,
  type OutgoingAllowList,
  TransientError,
} from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'

/** The response of a store. The caller must read or cancel the body. */
export interface StoreResponse {
  status: number
  headers: Headers
  chunks: AsyncIterable<Uint8Array>
  text(): Promise<string>
  cancel(): Promise<void>
}

/** Sends a request to a store. Throws `TransientError`, `SourceProblem`, or the signal's reason; a status is never an error. */
export interface StoreClient extends AsyncDisposable {
  (url: URL, headers: Headers, signal: AbortSignal): Promise<StoreResponse>
}

/** Maximum bytes of a list or an error that are read. */
const maxTextBytes = 16 * 1024 * 1024
/** Limit of a body, never reached in practice: it only protects the counters. The downloads count the parts that they write. */
const maxBodyBytes = 2 ** 46
/** Timeout of one exchange in milliseconds: objects in one piece take long, and the idle timeout ends a dead exchange earlier. */
const exchangeTimeoutMs = 6 * 3_600_000

/**
 * Sends requests with the guarded client. Each is limited by its idle time, not by its duration: a connection without a
 * byte for this long, headers included, counts as dead.
 */
export function createStoreClient(allowed: OutgoingAllowList, idleTimeoutMs: number): StoreClient {
  const http = guardedFetch({
    allowed,
    timeLimit: exchangeTimeoutMs,
    connectLimit: Math.min(idleTimeoutMs, 10_000),
    maxBytes: maxBodyBytes,
  })
  const send = (url: URL, headers: Headers, signal: AbortSignal) =>
    sendRequest(http, url, headers, idleTimeoutMs, signal)
  return Object.assign(send, { [Symbol.asyncDispose]: () => http.close() })
}

async function sendRequest(
  http: GuardedFetch,
  url: URL,
  headers: Headers,
  idleTimeoutMs: number,
  signal: AbortSignal,
): Promise<StoreResponse> {
  signal.throwIfAborted()
  const idle = new AbortController()
  // A response that is not read to its end must not keep the process alive.
  const timer = setTimeout(() => idle.abort(idleTimeoutProblem(url.host, idleTimeoutMs)), idleTimeoutMs).unref()
  const explain = (error: unknown): unknown => {
    clearTimeout(timer)
    signal.throwIfAborted()
    return toSourceProblem(idle.signal.aborted ? idle.signal.reason : error)
  }
  try {
    const response = await http.fetch(url, { headers, signal: AbortSignal.any([signal, idle.signal]) })
    timer.refresh()
    const { status, body } = response
    return {
      status,
      headers: response.headers,
      chunks: chunksOf(body, timer, explain),
      async text() {
        const parts: Uint8Array[] = []
        let size = 0
        for await (const part of chunksOf(body, timer, explain)) {
          size += part.length
          if (size > maxTextBytes)
            throw new SourceProblem('OTHER_PROTOCOL', `${url.host} answers more than a list can be.`)
          parts.push(part)
        }
        return Buffer.concat(parts).toString('utf8')
      },
      async cancel() {
        clearTimeout(timer)
        await body?.cancel().catch(() => {})
      },
    }
  } catch (error) {
    throw explain(error)
  }
}

async function* chunksOf(
  body: ReadableStream<Uint8Array> | null,
  timer: NodeJS.Timeout,
  explain: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array, void, void> {
  if (!body) return clearTimeout(timer)
  const reader = body.getReader()
  try {
    for (;;) {
      timer.refresh()
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw explain(error)
      })
      if (done) return
      yield value
    }
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => {})
  }
}

function idleTimeoutProblem(host: string, idleTimeoutMs: number): OutgoingProblem {
  return new OutgoingProblem(`${host} said nothing for ${Math.ceil(idleTimeoutMs / 1000)} seconds.`, {
    code: 'CONNECTION_TIMEOUT',
  })
}

const hints: Partial<Record<OutgoingCode, string>> = {
  HOST_UNKNOWN: ' Check the endpoint, and the account or region that its name is made of.',
  CONNECTION_REFUSED: ' Check the endpoint and its port, and that a firewall lets this server in.',
  CONNECTION_TIMEOUT: ' Check the endpoint, and that a firewall lets this server in.',
  CONNECTION_LOST: ' Try again; if it stays so, look at the server, and at what is between.',
  CERTIFICATE_NOT_TRUSTED: ' Give the store a certificate that is valid for its name.',
  OTHER_PROTOCOL: ' Check the endpoint and its port.',
}

/**
 * Converts an error of the guarded client. Its message contains the host only, and no other part of the URL, so it
 * contains no signature.
 */
function toSourceProblem(error: unknown): unknown {
  if (!(error instanceof OutgoingProblem)) return error
  const { code, message } = error
  const problem = new SourceProblem(code, message + (hints[code] ?? ''), { cause: error })
  return error.isTransient ? new TransientError(problem) : problem
}
