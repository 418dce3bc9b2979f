import { BodySourceError } from './service-errors.ts'
import type { Operation, UntypedInput, UploadInput } from './operation.ts'
import { formType, isOutage, pause, type ServiceClient, type RequestTransport } from './service-client.ts'

/**
 * The bytes of a file. In browsers: a `File` or another `Blob`. In Node.js also: a readable stream, or the result of
 * `fs.openAsBlob`. Only a Blob can be sent again after a broken connection.
 */
export type UploadBody = Blob | AsyncIterable<Uint8Array>

export interface UploadOptions {
  body: UploadBody
  /**
   * The size in bytes. Default for a Blob: its size. If it is sent, a service can immediately reject a file that is too
   * large.
   */
  size?: number
  /**
   * Called with the number of bytes sent, and the total size if it is known. After a broken connection, the number
   * restarts at 0.
   */
  onProgress?: (sent: number, size: number | undefined) => void
  /** The maximum number of attempts to send a Blob if the connection breaks. Default: 3. */
  attempts?: number
  /**
   * Sends the request in another way, such as `resumableTransport` of `@sluice/client/resumable`. It must add the body
   * itself, and its response becomes the response of the operation.
   */
  transport?: RequestTransport
}

const retryDelayMs = 2_000

/**
 * Uploads a file. A complete upload replaces the previous file at once, so a broken one changes nothing. Throws the
 * client's errors, and errors of the body's source unchanged.
 */
export async function upload<Path extends string, Query, Result, Form>(
  client: ServiceClient,
  operation: Operation<Path, Query, any, Result, Form>,
  input: UploadInput<Path, Query, Form> & UploadOptions,
): Promise<Result> {
  const { body, attempts = 3, transport, signal } = input
  const { params, query, headers } = input as UntypedInput
  // A stream can be read only once, and a Blob again for each attempt.
  const canSendAgain = body instanceof Blob
  const stream = canSendAgain ? undefined : readAhead(body)
  const createTransport = () =>
    stream ? createStreamTransport(stream, input) : createBlobTransport(body as Blob, operation, input)
  const request = { params, query, ...(headers && { headers }), signal }
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        const options = { transport: transport ?? createTransport(), replay: canSendAgain }
        return (await client.send<Result>(operation, request, options)).body
      } catch (error) {
        const mayRetry = canSendAgain && attempt < attempts && isOutage(error)
        if (!mayRetry) throw error
        await pause(retryDelayMs * attempt, signal)
      }
    }
  } finally {
    await stream?.close()
  }
}

interface BlobUpload {
  form?: unknown
  size?: number
  onProgress?: UploadOptions['onProgress']
}

/**
 * Returns a transport that sends a Blob, or a form that contains it, and reports progress. Uses XMLHttpRequest in
 * browsers, because they report progress only to it.
 */
function createBlobTransport(
  file: Blob,
  { upload: type }: Operation,
  { form, size = file.size, onProgress }: BlobUpload,
): RequestTransport {
  const body = type === formType ? buildForm(form as object, file) : file
  const report = (sent: number) => onProgress?.(Math.min(sent, size), size)
  const { XMLHttpRequest } = globalThis as unknown as { XMLHttpRequest?: new () => ProgressRequest }
  if (XMLHttpRequest) return (url, init) => sendWithProgress(new XMLHttpRequest(), url, init, body, report)
  // Outside browsers, only the end of a form can be reported.
  if (body instanceof FormData)
    return async (url, init) => {
      const response = await fetch(url, { ...init, body })
      report(size)
      return response
    }
  return async (url, init) => {
    const source = readAhead(readBlob(file))
    try {
      return await createStreamTransport(source, { size, onProgress })(url, init)
    } finally {
      await source.close()
    }
  }
}

/** Returns a form with these fields before the file, as the services require. */
function buildForm(fields: object, file: Blob): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, String(value))
  form.append('file', file)
  return form
}

/** The parts of XMLHttpRequest that this module uses. */
interface ProgressRequest {
  upload: { addEventListener(type: 'progress', listener: (event: { loaded: number }) => void): void }
  addEventListener(type: 'load' | 'error' | 'abort', listener: () => void): void
  status: number
  /** The address of the response without a fragment. After a redirect, it differs from the request's address. */
  responseURL: string
  responseText: string
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: Blob | FormData): void
  abort(): void
}

/** Sends the body with XMLHttpRequest and returns its response as that of `fetch`. Reports the sent bytes. */
function sendWithProgress(
  request: ProgressRequest,
  url: URL,
  { method = 'POST', headers, signal }: RequestInit,
  body: Blob | FormData,
  report: (sent: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = () => request.abort()
    const onEnd = (type: 'load' | 'error' | 'abort', complete: () => void) =>
      request.addEventListener(type, () => {
        signal?.removeEventListener('abort', abort)
        complete()
      })
    request.open(method, url.href)
    ;(headers as Headers).forEach((value, name) => request.setRequestHeader(name, value))
    request.upload.addEventListener('progress', ({ loaded }) => report(loaded))
    // XMLHttpRequest follows redirects, and no option prevents that. So the response of another address becomes an
    // error response, as `fetch` returns for a redirect.
    const isRedirected = () => request.responseURL !== '' && request.responseURL !== url.href.split('#')[0]
    onEnd('load', () => resolve(isRedirected() ? Response.error() : toFetchResponse(request)))
    onEnd('error', () => reject(new TypeError('The connection broke')))
    onEnd('abort', () => reject(signal?.reason))
    signal?.addEventListener('abort', abort, { once: true })
    request.send(body)
    if (signal?.aborted) abort()
  })
}

function toFetchResponse(request: ProgressRequest): Response {
  const { status, responseText } = request
  const lines = request.getAllResponseHeaders().trim().split('\r\n').filter(Boolean)
  const headers = lines.map((line): [string, string] => {
    const end = line.indexOf(':')
    return [line.slice(0, end), line.slice(end + 1).trim()]
  })
  return new Response(status === 204 ? null : responseText, { status, headers })
}

interface ByteSource {
  next(): Promise<IteratorResult<Uint8Array>>
  close(): Promise<void>
}

/**
 * Starts reading a source immediately, and returns its chunks, including the first one, with `next`. `close` has an
 * effect only on a source that is being read. Without it, the error of a Node.js stream that cannot be opened would end
 * the process if the request is never sent.
 */
export function readAhead(source: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = source[Symbol.asyncIterator]()
  let first: Promise<IteratorResult<Uint8Array>> | undefined = iterator.next()
  first.catch(() => {})
  return {
    next() {
      const next = first ?? iterator.next()
      first = undefined
      return next
    },
    async close() {
      await iterator.return?.().catch(() => {})
    },
  }
}

export async function* readBlob(file: Blob): AsyncGenerator<Uint8Array, void, void> {
  const reader = file.stream().getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

/**
 * Returns a transport that sends a stream and reports the number of sent bytes. An error of the stream is thrown as
 * `BodySourceError`.
 */
export function createStreamTransport(source: ByteSource, { size, onProgress }: BlobUpload): RequestTransport {
  return async (url, init) => {
    let sentBytes = 0
    let sourceError: BodySourceError | undefined
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const next = await source.next()
            if (next.done) return controller.close()
            controller.enqueue(next.value)
            sentBytes += next.value.byteLength
            onProgress?.(sentBytes, size)
          } catch (error) {
            sourceError = new BodySourceError(error)
            throw sourceError
          }
        },
        cancel: () => source.close(),
      },
      // Reads a chunk only when `fetch` sends it.
      { highWaterMark: 0 },
    )
    const headers = new Headers(init.headers)
    if (size !== undefined) headers.set('content-length', String(size))
    try {
      return await fetch(url, { ...init, headers, body: stream, duplex: 'half' } as RequestInit)
    } catch (error) {
      // `fetch` reports a failed stream as a failed request.
      throw sourceError ?? error
    }
  }
}
