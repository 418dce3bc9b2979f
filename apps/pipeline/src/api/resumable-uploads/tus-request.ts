import type { Readable } from 'node:stream'
import { type DataStore, ERRORS, type Locker, Server } from '@tus/server'
import { Problem, problems } from '@sluice/http-server'
import { tusVersion } from './upload-headers.ts'

/**
 * Before a request is ended in favour of another one, it has this many milliseconds to store bytes that have already
 * arrived.
 */
const drainMs = 500

/**
 * The response headers of the library @tus/server that the service passes on. It omits the CORS headers, which the
 * service sets itself.
 */
const passedHeaders = /^(tus-|upload-|location$|cache-control$|connection$)/

interface TusRequest {
  method: 'POST' | 'HEAD' | 'PATCH' | 'DELETE'
  /** The path of the pipeline's uploads, and the uid of this upload. */
  path: string
  uid: string
  headers: Record<string, string | undefined>
  /** The body of a PATCH request. */
  body?: Readable
}

/**
 * Handles one request of the tus protocol and returns the response headers. Throws problems, and the errors of the
 * store.
 */
export async function handleTusRequest(
  { method, path, uid, headers, body }: TusRequest,
  { store, locker }: { store: DataStore; locker: Locker },
): Promise<Record<string, string>> {
  let storeError: unknown
  const server = new Server({
    path,
    datastore: store,
    locker,
    lockDrainTimeout: drainMs,
    namingFunction: () => uid,
    generateUrl: (_request, { path: uploads, id }) => `${uploads}/${id}`,
    getFileIdFromRequest: () => uid,
    onResponseError(_request, error) {
      storeError = error
      return undefined
    },
  })
  const headerEntries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  )
  // Destroying the request would close the connection before the response is sent.
  const chunks = body?.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer> | undefined
  const request = new Request(`http://localhost${path}/${uid}`, {
    method,
    headers: [...headerEntries, ['Tus-Resumable', tusVersion]],
    ...(chunks && { body: ReadableStream.from({ [Symbol.asyncIterator]: () => chunks }), duplex: 'half' }),
  } as RequestInit)
  try {
    const response = await server.handleWeb(request)
    if (storeError !== undefined) throw toTusProblem(storeError)
    if (!response.ok) throw toTusProblem({ status_code: response.status, body: await response.text() })
    return Object.fromEntries([...response.headers].filter(([name]) => passedHeaders.test(name)))
  } finally {
    // The response may be sent before the whole body has arrived. Read and discard the rest, so that the connection can
    // be reused.
    if (chunks)
      void chunks.return?.().then(
        () => body?.resume(),
        () => {},
      )
  }
}

/** The error that the library throws for a request that violates the protocol. */
interface TusError {
  status_code: number
  body: string
}

const problemsByError = new Map<unknown, () => Problem>([
  [
    ERRORS.INVALID_OFFSET,
    () =>
      new Problem(409, 'upload-offset', 'The upload has another offset.', {
        detail: 'Upload-Offset is not the number of bytes that are stored. Read it with HEAD, and continue there.',
      }),
  ],
  [
    ERRORS.ABORTED,
    () => problems.unreadableBody('The upload was interrupted. Read its offset with HEAD, and continue there.'),
  ],
  [ERRORS.ERR_SIZE_EXCEEDED, bodyTooLong],
  [ERRORS.ERR_MAX_SIZE_EXCEEDED, bodyTooLong],
])

function bodyTooLong(): Problem {
  return new Problem(413, 'too-large', 'The request body is too large.', {
    detail:
      'The body has more bytes than Upload-Length leaves. Read the offset with HEAD, and send the rest of the same file.',
  })
}

function toTusProblem(error: unknown): unknown {
  const createProblem = problemsByError.get(error)
  if (createProblem) return createProblem()
  const { status_code: status, body } = error as Partial<TusError>
  if (error instanceof Problem || status === undefined || body === undefined) return error
  if (status === 413) return bodyTooLong()
  return status >= 500 ? new Error(body.trim()) : problems.malformed([{ pointer: '/', detail: body.trim() }])
}
