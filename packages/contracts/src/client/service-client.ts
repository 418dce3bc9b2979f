import { Readable } from 'node:stream'
import type { PathParameters, Signature } from '../operation.ts'
import { type ResultPage, bodyOf, assertAvailable, pageOf } from './responses.ts'
import { type ExchangeRequest, type RawResponse, type UploadBody, exchange } from './http-exchange.ts'
import { type Circuit, type ResilienceOptions, resilience } from './resilience.ts'

export interface ServiceClientOptions extends ResilienceOptions {
  /** Base address without `/api/v1`, such as `http://identity:3001`. */
  baseUrl: string
  /** Name of the service in messages; its address when absent. */
  name?: string
  /** Called once per request; undefined sends no token. */
  token: () => string | undefined | Promise<string | undefined>
  /** Headers of every call, such as the current request id. */
  headers?: () => Record<string, string>
  fetch?: typeof globalThis.fetch
}

interface UntypedInput extends CallOptions {
  params?: unknown
  query?: unknown
  body?: unknown
  length?: number
  contentType?: string
}

/**
 * Calls a service by its operations' signatures. Every method throws `RemoteProblem` for a problem response,
 * `ServiceUnavailable` without a usable response, and the signal's reason if the signal aborted the call.
 */
export interface ServiceClient {
  call<Path extends string, Query, Body, Response>(
    signature: Signature<Path, Query, Body, Response>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<Response>
  /** As `call`, with the totals from the headers of a paged response. */
  callPaged<Path extends string, Query, Body, Response>(
    signature: Signature<Path, Query, Body, Response>,
    ...input: OptionalInput<CallInput<Path, Query, Body>>
  ): Promise<ResultPage<Response>>
  /** Streams a file. Not retried; ends only with the connection or the signal. Always consumes or destroys the stream. */
  upload<Path extends string, Query, Body, Response>(
    signature: Signature<Path, Query, Body, Response>,
    input: UploadInput<Path, Query>,
  ): Promise<Response>
  /** The state of the circuit, for metrics and health checks. */
  circuit(): Circuit
}

/** Creates a client. It connects at the first call; the process shares its keep-alive connections. */
export function serviceClient(options: ServiceClientOptions): ServiceClient {
  const { baseUrl, name = new URL(baseUrl).origin, fetch = globalThis.fetch } = options
  const { run, circuit } = resilience(name, options)

  async function request(
    signature: Signature,
    input: UntypedInput,
    body: ExchangeRequest['body'],
  ): Promise<RawResponse> {
    const { signal, params, query } = input
    const url = addressOf(baseUrl, signature, params as Record<string, string>, query as object)
    const headers = await headersOf(signature, input, options)
    const exchangeRequest = {
      url,
      method: signature.method.toUpperCase(),
      headers,
      ...(body !== undefined && { body }),
    }
    return run(async (limit) => assertAvailable(await exchange(exchangeRequest, fetch, limit, signal)), {
      retried: signature.effect === 'read',
      timed: !signature.upload,
      signal,
    })
  }

  const requestJson = (signature: Signature, input: UntypedInput = {}) =>
    request(signature, input, input.body === undefined ? undefined : JSON.stringify(input.body))

  return {
    circuit,
    call: async (signature, ...[input]) => bodyOf(signature, await requestJson(signature, input)),
    async callPaged(signature, ...[input]) {
      const answer = await requestJson(signature, input)
      return pageOf(bodyOf(signature, answer), answer.headers)
    },
    async upload(signature, input) {
      const { body } = input
      // A file that cannot be opened emits its error before it is read. The reader gets the error again.
      if (body instanceof Readable) body.on('error', () => {})
      try {
        return bodyOf(signature, await request(signature, input, body))
      } finally {
        await discard(body)
      }
    },
  }
}

async function headersOf(
  { upload, response }: Signature,
  { body, length, contentType, requestId, traceparent }: UntypedInput,
  { token, headers }: ServiceClientOptions,
): Promise<Headers> {
  const bearer = await token()
  const all = new Headers(headers?.())
  if (response) all.set('accept', 'application/json, application/problem+json')
  if (bearer !== undefined) all.set('authorization', `Bearer ${bearer}`)
  if (upload) all.set('content-type', contentType ?? upload)
  else if (body !== undefined) all.set('content-type', 'application/json')
  if (length !== undefined) all.set('content-length', String(length))
  if (requestId !== undefined) all.set('x-request-id', requestId)
  if (traceparent !== undefined) all.set('traceparent', traceparent)
  return all
}

/** Closes a body that was not completely read. */
async function discard(body: UploadBody): Promise<void> {
  if (body instanceof Readable) body.destroy()
  else if (body instanceof ReadableStream && !body.locked) await body.cancel().catch(() => {})
}

/** Returns the URL of an operation. Throws `TypeError` for a path parameter that is missing or would change the path. */
function addressOf(
  baseUrl: string,
  { id, path }: Signature,
  params: Record<string, string> = {},
  query: object = {},
): URL {
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => segment(id, name, params[name]))
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/v1${filled}`)
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one))
    }
  }
  return url
}

/** Dot segments survive percent-encoding: WHATWG URLs resolve `%2e%2e` too, so they are rejected instead. */
function segment(id: string, name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^$|^\.\.?$/.test(value))
    throw new TypeError(`${id} needs the path parameter "${name}", and ${JSON.stringify(value)} cannot be one.`)
  return encodeURIComponent(value)
}

interface CallOptions {
  /** Ends the call with the signal's reason. */
  signal?: AbortSignal
  requestId?: string
  /** W3C trace context. */
  traceparent?: string
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

export type CallInput<Path extends string, Query, Body> = PathInput<Path> &
  InputField<'query', Query> &
  // The service distinguishes `{}` from an absent body.
  (undefined extends Body ? { body?: undefined } : { body: Body }) &
  CallOptions

/** The input is optional if all of its fields are optional. */
type OptionalInput<Input> = {} extends Input ? [input?: Input] : [input: Input]

export type UploadInput<Path extends string, Query> = PathInput<Path> &
  InputField<'query', Query> &
  CallOptions & {
    body: UploadBody
    /** Bytes, if known: the service can then reject the upload before it reads it. */
    length?: number
    /** Includes the boundary if the body is a form. */
    contentType?: string
  }
