import type { IncomingMessage } from 'node:http'
import type { Credential, PathParameters, Role, OperationSignature, PrincipalState } from '@sluice/contracts'
import type { JsonResponse, RedirectResponse } from './responses.ts'
import type { EventStream } from './event-stream.ts'
import type { FileDownload } from './file-download.ts'

/** The credential, issue time and scope that a token carries. */
export interface PresentedCredential {
  credential: Credential
  /** Undefined for API tokens, which are looked up and not signed. */
  issued?: Date
  /** Undefined: all roles of the user. */
  scope?: string
}

/** The authenticated sender of a request. */
export interface Caller {
  /** A user in a session, an application for itself, or a user's API token. */
  kind: PrincipalState['kind'] | 'nobody'
  /** A user who signed in directly, not through an API token or an application. */
  inPerson: boolean
  /** The uid of the user or of the application. */
  uid: string
  username: string
  /** The uid of the client (organisation) that the session acts for. */
  client: string
  roles: readonly Role[]
  /** Roles that are switched off in this client: they grant nothing, but count when the power of two users is compared. */
  dormantRoles: readonly Role[]
  userGroups: readonly string[]
  /** Empty without a session. */
  session: string
  /** Used to check later whether the credential is still valid. Absent for anonymous callers. */
  presented?: PresentedCredential
}

/** The caller of public operations. */
export const anonymousCaller: Caller = {
  kind: 'nobody',
  inPerson: false,
  uid: '',
  username: '',
  client: '',
  roles: [],
  dormantRoles: [],
  userGroups: [],
  session: '',
}

/** The actor of an audit row for a request without a token, such as a sign-in. Both values are uids. */
export interface AuditActor {
  /** Absent if no user was identified. */
  user?: string
  client: string
}

/** Request data that handlers get in addition to the validated input. */
export interface RequestFacts {
  id: string
  /** The peer's address, with trusted proxies taken into account. */
  address: string
  /** BCP 47 tags, in order of preference. */
  locales: readonly string[]
  /** The version in If-Match; undefined if any version is accepted. */
  ifMatch: number | undefined
  /** The media type that the Accept header prefers, of those that the operation can return. */
  acceptedType: string
  /** Path and query of the request. */
  url: string
  /** The body of an upload, not yet read. */
  stream: IncomingMessage
  /** Adds to the audit row of this write: before and after, without secrets. */
  audit(object: string | null, details?: object, actor?: AuditActor): void
}

export type OperationInput<Context, Path extends string, Query, Body> = Context & {
  caller: Caller
  params: PathParameters<Path>
  query: Query
  body: Body
  request: RequestFacts
}

/** A signature with its handler. */
export interface Operation<Context = any> {
  signature: OperationSignature
  handle(input: OperationInput<Context, string, any, any>): Promise<unknown>
}

/** Returns the function that defines operations. Each app calls it once with the context type of its handlers. */
export function operationsWith<Context>() {
  return function operation<Path extends string, Query, Body, Response>(
    signature: OperationSignature<Path, Query, Body, Response>,
    handle: (
      input: OperationInput<Context, Path, Query, Body>,
    ) => Promise<NoInfer<Response> | JsonResponse<NoInfer<Response>> | RedirectResponse | EventStream | FileDownload>,
  ): Operation<Context> {
    return { signature: signature as OperationSignature, handle: handle as Operation<Context>['handle'] }
  }
}
