import type { IncomingMessage } from 'node:http'
import type { Credential, PathParameters, Role, OperationSignature, PrincipalState } from '@sluice/contracts'
import type { JsonResponse, RedirectResponse } from './responses.ts'
import type { EventStream } from './event-stream.ts'
import type { FileDownload } from './file-download.ts'

/** The credential, issue time and scope that a token contains. */
export interface PresentedCredential {
  credential: Credential
  /** Undefined for API tokens, which are looked up in the database instead of signed. */
  issued?: Date
  /** Undefined means all roles of the user. */
  scope?: string
}

/** The authenticated sender of a request. */
export interface Caller {
  /** A user in a session, an application acting for itself, or a user's API token. */
  kind: PrincipalState['kind'] | 'nobody'
  /** True for a user who signed in directly, not through an API token or an application. */
  inPerson: boolean
  /** The uid of the user or application. */
  uid: string
  username: string
  /** The uid of the client (organisation) for which the caller acts. */
  client: string
  roles: readonly Role[]
  /**
   * Roles that are switched off in this client (organisation). They grant nothing, but count when the rights of two
   * users are compared.
   */
  dormantRoles: readonly Role[]
  userGroups: readonly string[]
  /** The session id. Empty for callers without a session. */
  session: string
  /** Used to check later that the credential is still valid. Absent for anonymous callers. */
  presented?: PresentedCredential
}

/** The caller of operations that require no token. */
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

/** The actor in the audit row of a request without a token, such as a sign-in. Both values are uids. */
export interface AuditActor {
  /** Absent if no user was identified. */
  user?: string
  client: string
}

/** Request data that handlers receive in addition to the validated input. */
export interface RequestFacts {
  id: string
  /** The IP address of the sender. Takes trusted proxies into account. */
  address: string
  /** Language tags (BCP 47) in order of preference. */
  locales: readonly string[]
  /** The version in the If-Match header. Undefined if any version is accepted. */
  ifMatch: number | undefined
  /** The media type, of those that the operation can return, that the Accept header prefers. */
  acceptedType: string
  /** The path and query of the request. */
  url: string
  /** The body of an upload, not yet read. */
  stream: IncomingMessage
  /** Adds to the audit row of this write: the object, and its values before and after, without secrets. */
  audit(object: string | null, details?: object, actor?: AuditActor): void
}

export type OperationInput<Context, Path extends string, Query, Body> = Context & {
  caller: Caller
  params: PathParameters<Path>
  query: Query
  body: Body
  request: RequestFacts
}

/** An operation: its signature (method, path, contracts) and its handler. */
export interface Operation<Context = any> {
  signature: OperationSignature
  handle(input: OperationInput<Context, string, any, any>): Promise<unknown>
}

/** Returns the function that defines operations. Each app calls it once, with the context type of its handlers. */
export function createOperationDefiner<Context>() {
  return function operation<Path extends string, Query, Body, Response>(
    signature: OperationSignature<Path, Query, Body, Response>,
    handle: (
      input: OperationInput<Context, Path, Query, Body>,
    ) => Promise<NoInfer<Response> | JsonResponse<NoInfer<Response>> | RedirectResponse | EventStream | FileDownload>,
  ): Operation<Context> {
    return { signature: signature as OperationSignature, handle: handle as Operation<Context>['handle'] }
  }
}
