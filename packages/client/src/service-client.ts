import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { PathParameters, OperationSignature } from '@sluice/contracts'
import { ServiceUnavailable } from './errors.ts'
import { type HttpRequest, type UploadBody, bodyOf, sendRequest } from './http-exchange.ts'

export { RemoteProblem, ServiceUnavailable } from './errors.ts'

interface ServiceClientOptions {
  /** Base address without `/api/v1`, such as `http://identity:3001`. */
  baseUrl: string
  /** Returns the token of a request. Called once per request; for undefined, no token is sent. */
  token: () => string | undefined | Promise<string | undefined>
  /** Headers of every call, such as the current request id. */
  headers?: () => Record<string, string>
  /** Milliseconds for each attempt, from connecting to the last byte of the response. Uploads have no limit. Default: 3,000. */
  timeout?: number
}

interface UntypedInput extends CallOptions {
  params?: unknown
  query?: unknown
  body?: unknown
  length?: number
}

/**
 * Calls a service by its operations' signatures. Every method throws `RemoteProblem` for a problem response,
 * `ServiceUnavailable` without a usable response, and the signal's reason if the signal aborted the call.
 */
export interface ServiceClient {
  /** Retries a read once if the service is unreachable or overloaded. */
  call<Path extends string, Query, Body, Response>(
    signature: OperationSignature<Path, Query, Body, Response>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<Response>
  /** Streams a file. Not retried; ends only with the connection or the signal. Always consumes or destroys the stream. */
  upload<Path extends string, Query, Body, Response>(
    signature: OperationSignature<Path, Query, Body, Response>,
    input: UploadInput<Path, Query>,
  ): Promise<Response>
}

const retryDelayMs = 200

/** Creates a client. It connects at the first call; the process shares its keep-alive connections. */
export function serviceClient(options: ServiceClientOptions): ServiceClient {
  const { baseUrl, timeout = 3_000 } = options

  async function request(signature: OperationSignature, input: UntypedInput, body: HttpRequest['body']) {
    const { signal, params, query } = input
    const httpRequest = {
      url: addressOf(baseUrl, signature, params as Record<string, string>, query as object),
      method: signature.method.toUpperCase(),
      headers: await headersOf(signature, input, options),
      ...(body !== undefined && { body }),
    }
    const send = () => sendRequest(httpRequest, signature.upload ? undefined : AbortSignal.timeout(timeout), signal)
    try {
      return await send()
    } catch (error) {
      if (signature.effect !== 'read' || !isRetryable(error)) throw error
      await delay(retryDelayMs, undefined, { signal }).catch(() => signal?.throwIfAborted())
      return send()
    }
  }

  return {
    async call(signature, ...[input = {}]) {
      const { body } = input as UntypedInput
      return bodyOf(signature, await request(signature, input, body === undefined ? undefined : JSON.stringify(body)))
    },
    async upload(signature, input) {
      const { body } = input
      // A file that cannot be opened would end the process if its stream had no listener. Its reader gets the error, too.
      if (body instanceof Readable) body.on('error', () => {})
      try {
        return bodyOf(signature, await request(signature, input, body))
      } finally {
        await discardBody(body)
      }
    },
  }
}

/**
 * Returns whether a request can be repeated. A request that timed out is not repeated, because another request would
 * make a slow service slower.
 */
const isRetryable = (error: unknown): boolean =>
  error instanceof ServiceUnavailable && (error.reason === 'unreachable' || error.reason === 'overloaded')

async function headersOf(
  { upload, response }: OperationSignature,
  { body, length }: UntypedInput,
  { token, headers }: ServiceClientOptions,
): Promise<Headers> {
  const bearer = await token()
  const all = new Headers(headers?.())
  if (response) all.set('accept', 'application/json, application/problem+json')
  if (bearer !== undefined) all.set('authorization', `Bearer ${bearer}`)
  if (upload) all.set('content-type', upload)
  else if (body !== undefined) all.set('content-type', 'application/json')
  if (length !== undefined) all.set('content-length', String(length))
  return all
}

async function discardBody(body: UploadBody): Promise<void> {
  if (body instanceof Readable) body.destroy()
  else if (body instanceof ReadableStream && !body.locked) await body.cancel().catch(() => {})
}

/** Returns the URL of an operation. Throws `TypeError` for a path parameter that is missing or would change the path. */
function addressOf(
  baseUrl: string,
  { id, path }: OperationSignature,
  params: Record<string, string> = {},
  query: object = {},
): URL {
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => encodePathSegment(id, name, params[name]))
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/v1${filled}`)
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one))
    }
  }
  return url
}

/** Returns a value as a percent-encoded path segment. Throws for `.` and `..`, because URLs resolve them even if they are encoded as `%2e%2e`. */
function encodePathSegment(id: string, name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^$|^\.\.?$/.test(value))
    throw new TypeError(`${id} needs the path parameter "${name}", and ${JSON.stringify(value)} cannot be one.`)
  return encodeURIComponent(value)
}

interface CallOptions {
  signal?: AbortSignal
}

type InputField<Name extends string, T> = undefined extends T
  ? { [K in Name]?: undefined }
  : {} extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T }

type PathInput<Path extends string> = InputField<
  'params',
  keyof PathParameters<Path> extends never ? {} : PathParameters<Path>
>

type CallInput<Path extends string, Query, Body> = PathInput<Path> &
  InputField<'query', Query> &
  // The service distinguishes `{}` from an absent body.
  (undefined extends Body ? { body?: undefined } : { body: Body }) &
  CallOptions

/** The input is optional if all of its fields are optional. */
type OptionalInput<Input> = {} extends Input ? [input?: Input] : [input: Input]

type UploadInput<Path extends string, Query> = PathInput<Path> &
  InputField<'query', Query> &
  CallOptions & {
    body: UploadBody
    /** The size in bytes, if known. With it, the service can reject an upload that is too large before it reads the upload. */
    length?: number
  }
