import type { Contract } from './contract.ts'
import type { Role } from './roles.ts'

export type Method = 'get' | 'post' | 'put' | 'delete'

/**
 * Who may call an operation: anyone; any user; a user who signed in directly, not through an API token or an application;
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
  /** Beside roles: only for a holder who signed in here themself, as with the guard `in-person`. */
  inPerson?: boolean
  /** A write runs in one transaction and leaves an audit row; a read does neither. */
  effect: 'read' | 'write'
  status: number
  query?: Contract<Query>
  body?: Contract<Body>
  /** Absent: the answer has no body (204). */
  response?: Contract<Response>
  /** The answer is a bare array, with its totals in headers. */
  paged?: boolean
  /** The response is a stream of server-sent events whose data is `response`. */
  events?: boolean
  /** The object has a version: answers carry it as ETag, and a write takes it as If-Match. */
  versioned?: boolean
  /** Takes If-Match, though its answer is not the object, or it is a POST. */
  ifMatch?: boolean
  /** Hint in the 405 problem about the operation to use instead. */
  otherMethods?: string
  /** It may redirect the browser instead (302). */
  leadsOn?: boolean
  /** The operation may answer with an HTML page if the Accept header prefers HTML to JSON. */
  hasHtmlPage?: boolean
  /** The body is not JSON: this media type, streamed. */
  upload?: string
  /** Of an upload that is `multipart/form-data`: the fields before the part `file`. */
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
