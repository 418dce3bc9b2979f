import type { IncomingMessage } from 'node:http'
import type { Credential, PathParameters, Role, Signature, Standing } from '@sluice/contracts'
import type { Answer, Redirect } from './answer.ts'
import type { EventStream } from './event-stream.ts'

/** What a token says by itself. */
export interface Presented {
  credential: Credential
  /** Undefined for what is looked up, and not signed. */
  issued?: Date
  /** Undefined: whatever the user may do. */
  scope?: string
}

/** Who is asking, as far as this service may rely on it. */
export interface Caller {
  /** How they come: a user in a session, an application for itself, or a user's API token. */
  kind: Standing['kind'] | 'nobody'
  /** A user who signed in here themself: not through a token or an application of theirs. */
  inPerson: boolean
  /** The user's, or the application's. */
  uid: string
  username: string
  /** The uid of the client (organisation) that the session acts for. */
  client: string
  roles: readonly Role[]
  /** Held, but switched off in this client: they open nothing, and count where one person's power is weighed against another's. */
  dormantRoles: readonly Role[]
  userGroups: readonly string[]
  /** Empty where there is none. */
  session: string
  /** What they came with, to look again whether it still holds. Nobody has none. */
  given?: Presented
}

/** The caller of operations that anyone may use. */
export const nobody: Caller = {
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

/** Who an audit row names where the request came without a token: a sign-in. Uids. */
export interface Actor {
  /** Absent where nobody turned out to be one. */
  user?: string
  client: string
}

/** What handlers may know of the request itself. */
export interface RequestFacts {
  id: string
  /** The peer's address, with trusted proxies taken into account. */
  address: string
  /** BCP 47 tags, most wanted first. */
  locales: readonly string[]
  /** The version that If-Match names; undefined when any will do. */
  ifMatch: number | undefined
  /** Path and query, as asked. */
  url: string
  /** The body of an upload, not yet read. */
  stream: IncomingMessage
  /** Adds to the audit row of this write: before and after, without secrets. */
  audit(object: string | null, details?: object, by?: Actor): void
}

export type Input<Context, Path extends string, Query, Body> = Context & {
  caller: Caller
  params: PathParameters<Path>
  query: Query
  body: Body
  request: RequestFacts
}

/** A signature and how it is answered. */
export interface Operation<Context = any> {
  signature: Signature
  handle(input: Input<Context, string, any, any>): Promise<unknown>
}

/** Each app calls this once, with what its handlers are given besides the request. */
export function operationsWith<Context>() {
  return function operation<Path extends string, Query, Body, Response>(
    signature: Signature<Path, Query, Body, Response>,
    handle: (
      input: Input<Context, Path, Query, Body>,
    ) => Promise<NoInfer<Response> | Answer<NoInfer<Response>> | Redirect | EventStream>,
  ): Operation<Context> {
    return { signature: signature as Signature, handle: handle as Operation<Context>['handle'] }
  }
}
