import { Readable, pipeline, type Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import {
  type ResponseHeaders,
  type SsrfSafeFetch,
  type SsrfSafeResponse,
  ssrfSafeFetch,
  type OutgoingCode,
  OutgoingProblem,
  type OutgoingAllowList,
  TransientError,
} from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'

/** A response of a store. The caller must read or cancel the body. */
export interface StoreResponse {
  status: number
  headers: ResponseHeaders
  chunks: AsyncIterable<Uint8Array>
  text(): Promise<string>
  cancel(): Promise<void>
}

/**
 * Sends a request to a store and returns the response, whatever its status. Throws `TransientError`, `SourceProblem`,
 * or the signal's reason after an abort.
 */
export interface StoreClient extends AsyncDisposable {
  (url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StoreResponse>
}

/** The maximum bytes of a list or error response. */
const maxTextBytes = 16 * 1024 * 1024
/**
 * The time limit of a complete request and response, in milliseconds. It is long, because a large object may be
 * downloaded in one piece; the idle time limit ends a stalled request much earlier.
 */
const exchangeTimeoutMs = 6 * 3_600_000

/**
 * Creates a client that sends requests to allowed addresses only. A request fails after `idleTimeoutMs` without a
 * received byte.
 */
export function createStoreClient(allowed: OutgoingAllowList, idleTimeoutMs: number): StoreClient {
  const http = ssrfSafeFetch({
    allowed,
    timeLimitMs: idleTimeoutMs,
    connectLimit: Math.min(idleTimeoutMs, 10_000),
  })
  const send: (...request: Parameters<StoreClient>) => Promise<StoreResponse> = (url, headers, signal) =>
    sendRequest(http, url, headers, signal)
  // A client is the function `send` with a method that closes its connections, so that `await using` can close it.
  return Object.assign(send, { [Symbol.asyncDispose]: () => http.close() })
}

/** Sends a request. The body of the response is received only when `chunks` or `text` is read. */
async function sendRequest(
  http: SsrfSafeFetch,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<StoreResponse> {
  signal.throwIfAborted()
  const deadline = performance.now() + exchangeTimeoutMs
  const { host } = url
  const toThrownError = (error: unknown): unknown => {
    signal.throwIfAborted()
    return toSourceProblem(error)
  }
  try {
    const response = await http.get(url, { ...headers, ...acceptedEncoding }, signal)
    const chunks = watchChunks(decompress(response, host), { deadline, host, toThrownError })
    return {
      status: response.status,
      headers: response.headers,
      chunks,
      text: () => readText(chunks, host),
      cancel: async () => response.cancel(),
    }
  } catch (error) {
    throw toThrownError(error)
  }
}

/**
 * The header that allows a compressed response. Without it, Google Cloud Storage decompresses objects with
 * `Content-Encoding: gzip` and ignores byte ranges of them, and the response does not show this. Signatures of requests
 * do not cover this header.
 */
const acceptedEncoding = { 'accept-encoding': 'gzip' }

/** Reads a list or an error as text. Throws `SourceProblem` if it is larger than 16 MB. */
async function readText(chunks: AsyncIterable<Uint8Array>, host: string): Promise<string> {
  const receivedChunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxTextBytes)
      throw new SourceProblem(
        'OTHER_PROTOCOL',
        `The response of ${host} is larger than any list of objects. Check that the endpoint is that of an object store.`,
      )
    receivedChunks.push(chunk)
  }
  return Buffer.concat(receivedChunks).toString('utf8')
}

interface ChunkWatch {
  /** The time in milliseconds (`performance.now()`) after which no chunk may arrive. */
  deadline: number
  host: string
  /** Converts an error of the response to the error to throw. */
  toThrownError(error: unknown): unknown
}

/** Yields the chunks of a response. Ends the response after the deadline, and converts its errors. */
async function* watchChunks(
  chunks: AsyncIterable<Uint8Array>,
  { deadline, host, toThrownError }: ChunkWatch,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const chunk of chunks) {
      if (performance.now() > deadline) throw createExchangeTimeoutProblem(host)
      yield chunk
    }
  } catch (error) {
    throw toThrownError(error)
  }
}

/**
 * Options that accept a compressed stream which ends early, as browsers do. The length of the response shows whether it
 * is complete.
 */
const allowEarlyEnd = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const decompressors: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(allowEarlyEnd),
  'x-gzip': () => createGunzip(allowEarlyEnd),
  deflate: () => createInflate(allowEarlyEnd),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
}

/** The maximum number of content encodings of a response. Each needs memory, and the header can name thousands. */
const maxEncodings = 5

/** Returns the content encodings that the client decompresses, in the order in which the server applied them. */
export const parseContentEncodings = (headers: ResponseHeaders): string[] =>
  (headers.get('content-encoding') ?? '')
    .split(',')
    .map((encoding) => encoding.trim().toLowerCase())
    .filter((encoding) => Object.hasOwn(decompressors, encoding))

function decompress(response: SsrfSafeResponse, host: string): AsyncIterable<Uint8Array> {
  const encodings = parseContentEncodings(response.headers)
  return encodings.length === 0 ? response.chunks : decompressChunks(response, encodings, host)
}

/** Yields the decompressed chunks. `encodings` lists the encodings in the order in which the sender applied them. */
async function* decompressChunks(
  { chunks, cancel }: SsrfSafeResponse,
  encodings: readonly string[],
  host: string,
): AsyncGenerator<Uint8Array, void, void> {
  if (encodings.length > maxEncodings) {
    cancel()
    const sentence = `The response of ${host} has more than ${maxEncodings} layers of compression (Content-Encoding).`
    throw new OutgoingProblem(sentence, { code: 'OTHER_PROTOCOL' })
  }
  const decompressorStreams = encodings.toReversed().map((encoding) => decompressors[encoding]!())
  const lastStream = decompressorStreams.at(-1)!
  // An error of the response reaches the loop below through the last stream.
  pipeline([Readable.from(chunks), ...decompressorStreams], () => {})
  try {
    yield* lastStream as AsyncIterable<Buffer>
  } catch (cause) {
    if (cause instanceof OutgoingProblem) throw cause
    throw new OutgoingProblem(`The connection to ${host} failed.`, { code: 'CONNECTION_LOST', cause })
  }
}

function createExchangeTimeoutProblem(host: string): OutgoingProblem {
  return new OutgoingProblem(`${host} did not respond completely within ${exchangeTimeoutMs / 1000} seconds.`, {
    code: 'CONNECTION_TIMEOUT',
  })
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
 * Converts an error of a request to a problem. Its message contains only the host of the URL, because the query
 * can contain a signature.
 */
function toSourceProblem(error: unknown): unknown {
  if (!(error instanceof OutgoingProblem)) return error
  const { code, message } = error
  const problem = new SourceProblem(code, message + (connectionHints[code] ?? ''), { cause: error })
  return error.isTransient ? new TransientError(problem) : problem
}
