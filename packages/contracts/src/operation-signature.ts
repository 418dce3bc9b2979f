import type { Contract } from './contract.ts'
import type { Role } from './roles.ts'

export type HttpMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'

/**
 * The callers that may use an operation. `anyone`: a token is optional. `signed-in`: any user. `in-person`: a user who
 * signed in directly, not through an API token or an application. `service`: the other service. A list: callers with at
 * least one of these roles.
 */
export type OperationGuard = 'anyone' | 'signed-in' | 'in-person' | 'service' | readonly Role[]

/** The parameters of a path: `{ uid: string }` for `/views/:uid`. */
export type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & PathParameters<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : {}

export interface HeaderDescription {
  description: string
  /** Default: false. */
  required?: boolean
}

/**
 * Declares one operation of a service without its handler. Routes, validation, authorisation, OpenAPI and the typed
 * client are derived from it.
 */
export interface OperationSignature<Path extends string = string, Query = any, Body = any, Response = any> {
  /**
   * The operation's id `noun.verb`: the operationId of OpenAPI, and its name in the audit log, the logs and the
   * metrics.
   */
  id: string
  summary: string
  description?: string
  method: HttpMethod
  /** The path below `/api/v1`, with `:name` for parameters. */
  path: Path
  guard: OperationGuard
  /** Whether the caller must also have signed in directly, as for the guard `in-person`. */
  inPerson?: boolean
  /** A write runs in one transaction and adds a row to the audit log. A read does neither. */
  effect: 'read' | 'write'
  /** Whether a request of this write may succeed without having written anything, such as one part of an upload. */
  mayWriteNothing?: boolean
  status: number
  /** Additional request headers by name. Others follow from the other fields. */
  requestHeaders?: Readonly<Record<string, HeaderDescription>>
  /** Additional response headers by name. Others follow from the other fields. */
  responseHeaders?: Readonly<Record<string, HeaderDescription>>
  query?: Contract<Query>
  body?: Contract<Body>
  /**
   * The maximum bytes of the JSON body, for an operation that accepts more than 1 MB. Each organisation can have one
   * such request at a time.
   */
  bodyLimit?: number
  /** Absent if the response has no body (204). */
  response?: Contract<Response>
  /** Whether the response is an array with its totals in headers. */
  paged?: boolean
  /** Whether the response is a stream of server-sent events. `response` is the contract of their data. */
  events?: boolean
  /**
   * Media types of files that the operation can return instead of JSON, if the Accept header prefers them or `?format=`
   * names one.
   */
  fileTypes?: readonly string[]
  /** Whether the object has a version. Responses contain it in ETag, and writes accept it in If-Match. */
  versioned?: boolean
  /** Whether a write accepts If-Match although it is a POST or does not return the object. */
  ifMatch?: boolean
  /** A hint in the 405 problem about the operation to use instead. */
  otherMethods?: string
  /** Whether the operation can redirect the browser instead (302). */
  mayRedirect?: boolean
  /** Whether the operation can return an HTML page when the Accept header prefers HTML to JSON. */
  hasHtmlPage?: boolean
  /** The media type of a body that is streamed instead of parsed as JSON. */
  upload?: string
  /** The fields before the part `file` of a `multipart/form-data` upload. */
  form?: Contract<any>
}

type SignatureInput<Path extends string, Query, Body, Response> = Omit<
  OperationSignature<Path, Query, Body, Response>,
  'effect' | 'status'
> &
  Partial<Pick<OperationSignature, 'effect' | 'status'>>

/**
 * Completes a signature with defaults: a GET reads and any other method writes, and a response without body has status
 * 204.
 */
export function defineSignature<const Path extends string, Query = undefined, Body = undefined, Response = undefined>(
  signature: SignatureInput<Path, Query, Body, Response>,
): OperationSignature<Path, Query, Body, Response> {
  return {
    effect: signature.method === 'get' ? 'read' : 'write',
    status: signature.response ? 200 : 204,
    ...signature,
  }
}
