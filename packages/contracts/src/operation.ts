import type { Contract } from './contract.ts'
import type { Role } from './roles.ts'

export type Method = 'get' | 'post' | 'put' | 'delete'

/**
 * The callers that an operation allows: anyone; any user; a user who signed in directly, not through an API token or an application;
 * the other service; or holders of any of these roles.
 */
export type Guard = 'anyone' | 'signed-in' | 'in-person' | 'service' | readonly Role[]

/** `/views/:uid` gives `{ uid: string }`. */
export type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & PathParameters<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : {}

/**
 * Declares one operation of a service without its handler. Routes, validation, authorisation, OpenAPI and the typed client are
 * derived from this value.
 */
export interface Signature<Path extends string = string, Query = any, Body = any, Response = any> {
  /** `noun.verb`: the operationId, and its name in the audit, the logs and the metrics. */
  id: string
  summary: string
  description?: string
  method: Method
  /** Below `/api/v1`, with `:name` for parameters. */
  path: Path
  guard: Guard
  /** In addition to roles: the caller must have signed in directly, as with the guard `in-person`. */
  inPerson?: boolean
  /** A write runs in one transaction and writes an audit row; a read does neither. */
  effect: 'read' | 'write'
  status: number
  query?: Contract<Query>
  body?: Contract<Body>
  /** Absent if the response has no body (204). */
  response?: Contract<Response>
  /** The response is a bare array, with its totals in headers. */
  paged?: boolean
  /** The response is a stream of server-sent events whose data is `response`. */
  events?: boolean
  /** The object has a version: responses contain it as ETag, and a write accepts it as If-Match. */
  versioned?: boolean
  /** Accepts If-Match although the response is not the object, or although the method is POST. */
  ifMatch?: boolean
  /** Hint in the 405 problem about the operation to use instead. */
  otherMethods?: string
  /** Whether the operation can redirect the browser instead (302). */
  leadsOn?: boolean
  /** The operation may answer with an HTML page if the Accept header prefers HTML to JSON. */
  hasHtmlPage?: boolean
  /** The body has this media type instead of JSON, and is streamed. */
  upload?: string
  /** The fields before the part `file` of a `multipart/form-data` upload. */
  form?: Contract<any>
}

type SignatureInput<Path extends string, Query, Body, Response> = Omit<
  Signature<Path, Query, Body, Response>,
  'effect' | 'status'
> &
  Partial<Pick<Signature, 'effect' | 'status'>>

export function signature<const Path extends string, Query = undefined, Body = undefined, Response = undefined>(
  given: SignatureInput<Path, Query, Body, Response>,
): Signature<Path, Query, Body, Response> {
  return {
    effect: given.method === 'get' ? 'read' : 'write',
    status: given.response ? 200 : 204,
    ...given,
  }
}
