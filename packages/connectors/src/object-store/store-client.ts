import {
  type GuardedFetch,
  guardedFetch,
  type OutgoingCode,
  OutgoingProblem,
  type OutgoingAllowList,
  TransientError,
} from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'

/** A response of a store. The caller must read or cancel the body. */
export interface StoreResponse {
  status: number
  headers: Headers
  chunks: AsyncIterable<Uint8Array>
  text(): Promise<string>
  cancel(): Promise<void>
}

/**
 * Sends a request to a store and returns the response, whatever its status. Throws `TransientError`, `SourceProblem`,
 * or the signal's reason after an abort.
 */
export interface StoreClient extends AsyncDisposable {
  (url: URL, headers: Headers, signal: AbortSignal): Promise<StoreResponse>
}

/** The maximum bytes of a list or error response. */
const maxTextBytes = 16 * 1024 * 1024
/** The maximum bytes of a body. No object reaches it; downloads limit the bytes that they write themselves. */
const maxBodyBytes = 2 ** 46
/**
 * The time limit of a complete request and response, in milliseconds. It is long, because a large object may be
 * downloaded in one piece; the idle time limit ends a stalled request much earlier.
 */
const exchangeTimeoutMs = 6 * 3_600_000

/**
 * Creates a client that sends requests through the guarded fetch. A request fails after `idleTimeoutMs` without a
 * received byte.
 */
export function createStoreClient(allowed: OutgoingAllowList, idleTimeoutMs: number): StoreClient {
  const http = guardedFetch({
    allowed,
    timeLimitMs: exchangeTimeoutMs,
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
  // The timer is unreferenced, so that an unread response does not keep the process alive.
  const timer = setTimeout(() => idle.abort(createIdleTimeoutProblem(url.host, idleTimeoutMs)), idleTimeoutMs).unref()
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
      chunks: readChunks(body, timer, explain),
      async text() {
        const chunks: Uint8Array[] = []
        let size = 0
        for await (const part of readChunks(body, timer, explain)) {
          size += part.length
          if (size > maxTextBytes)
            throw new SourceProblem(
              'OTHER_PROTOCOL',
              `The response of ${url.host} is larger than any list of objects. Check that the endpoint is that of an object store.`,
            )
          chunks.push(part)
        }
        return Buffer.concat(chunks).toString('utf8')
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

async function* readChunks(
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

function createIdleTimeoutProblem(host: string, idleTimeoutMs: number): OutgoingProblem {
  return new OutgoingProblem(
    `${host} sent nothing for ${Math.ceil(idleTimeoutMs / 1000)} seconds. Check the network and the store.`,
    {
      code: 'CONNECTION_TIMEOUT',
    },
  )
}

const connectionHints: Partial<Record<OutgoingCode, string>> = {
  HOST_UNKNOWN: ' Check the endpoint, or the account or region from which its host name is formed.',
  CONNECTION_REFUSED:
    ' Check the endpoint and its port, and that no firewall blocks connections from the Sluice server.',
  CONNECTION_TIMEOUT: ' Check the endpoint, and that no firewall blocks connections from the Sluice server.',
  CONNECTION_LOST: ' Run again. If it happens again, check the object store and the network.',
  CERTIFICATE_NOT_TRUSTED: ' Install a certificate on the object store that is valid for its host name.',
  OTHER_PROTOCOL: ' Check the endpoint and its port.',
}

/**
 * Converts an error of the guarded fetch to a problem. Its message contains only the host of the URL, because the query
 * can contain a signature.
 */
function toSourceProblem(error: unknown): unknown {
  if (!(error instanceof OutgoingProblem)) return error
  const { code, message } = error
  const problem = new SourceProblem(code, message + (connectionHints[code] ?? ''), { cause: error })
  return error.isTransient ? new TransientError(problem) : problem
}
