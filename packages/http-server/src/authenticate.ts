import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import {
  consoleApplication,
  firstParty,
  rolesWithin,
  type Credential,
  type OperationGuard,
  type Role,
  type PrincipalState,
} from '@sluice/contracts'
import { anonymousCaller, type Caller, type PresentedCredential } from './operation.ts'
import { problems } from './problem.ts'
import type { TokenVerifier, VerifiedToken } from './token-verifier.ts'

interface AuthenticatorOptions {
  verify: TokenVerifier
  /** Returns the principal of a credential, at most ten seconds old; undefined if the user, session, application or token does not exist. */
  findPrincipal(credential: Credential): Promise<PrincipalState | undefined>
  /** Shared secret that authenticates one service to the other. */
  serviceSecret: string
}

/** Prefix of every API token, so that people and secret scanners recognise a leaked one. */
export const apiTokenPrefix = 'sluice_'

/** Returns the hash that identifies an API token. The token itself is never stored. */
export const apiTokenHash = (token: string): string => createHash('sha256').update(token).digest('base64url')

/** Returns a function that identifies the caller of a request by its bearer token. Throws 401 and 403. */
export function createAuthenticator({ verify, findPrincipal, serviceSecret }: AuthenticatorOptions) {
  return async (request: Request, guard: OperationGuard): Promise<Caller> => {
    const token = bearerOf(request)
    if (guard === 'service') {
      if (!isSameSecret(token, serviceSecret))
        throw problems.unauthenticated('Only the services of this installation can call this operation.')
      return anonymousCaller
    }
    const presented = await readCredential(token, verify)
    const caller = toCaller(await findPrincipal(presented.credential), presented)
    if (!caller) throw problems.unauthenticated('This session, token or application has ended. Sign in again.')
    return caller
  }
}

/** Returns the caller with the roles that the token allows, or undefined if the principal is missing or inactive, or the token was revoked. */
export function toCaller(principal: PrincipalState | undefined, presented: PresentedCredential): Caller | undefined {
  const { credential, issued, scope } = presented
  if (!principal || !isPrincipalActive(principal, issued)) return undefined
  const limitToScope = (roles: readonly Role[]) => (scope === undefined ? roles : rolesWithin(roles, scope))
  return {
    kind: principal.kind,
    inPerson: principal.kind === 'session' && scope === undefined,
    uid: principal.id,
    username: principal.username,
    client: principal.client.id,
    roles: limitToScope(principal.roles),
    dormantRoles: limitToScope(principal.dormantRoles ?? []),
    userGroups: principal.userGroups,
    session: credential.session ?? '',
    presented,
  }
}

/** Returns whether a caller still exists with the same client and has kept all roles. */
export function isCallerUnchanged(caller: Caller, principal: PrincipalState | undefined): boolean {
  const current = caller.presented && toCaller(principal, caller.presented)
  return (
    current !== undefined &&
    current.uid === caller.uid &&
    current.client === caller.client &&
    caller.roles.every((role) => current.roles.includes(role))
  )
}

async function readCredential(token: string, verify: TokenVerifier): Promise<PresentedCredential> {
  if (token.startsWith(apiTokenPrefix)) return { credential: { kind: 'api-token', id: apiTokenHash(token) } }
  const credential = toPresentedCredential(await verify(token))
  // An application without a role may not read the user here either: the ID token and userinfo serve that purpose.
  if (credential.credential.application !== undefined && credential.scope === '')
    throw problems.forbidden(
      'The application has no role for this service. Request a role in the scope of the sign-in.',
    )
  return credential
}

/**
 * Returns what a verified access token presents. Only tokens of the sign-in itself and of the console have no scope, so
 * only these act in person. A token of the console never has one: a scope means that an earlier version issued the token
 * to a registered application with that id.
 */
export function toPresentedCredential({
  sub,
  sid,
  client_id,
  scope,
  grant,
  issued,
}: VerifiedToken): PresentedCredential {
  if (sid === undefined) return { credential: { kind: 'application', id: sub }, issued, scope: scope ?? '' }
  const session: Credential = { kind: 'session', id: sub, session: sid }
  if (client_id === firstParty) return { credential: session, issued }
  const credential = { ...session, application: client_id, ...(grant !== undefined && { grant }) }
  if (client_id === consoleApplication && scope === undefined) return { credential, issued }
  return { credential, issued, scope: scope ?? '' }
}

/** Tokens carry whole seconds, so a token that was issued in the second of a change stays valid. */
function isPrincipalActive(
  { status, open, client, tokenValidAfter }: PrincipalState,
  issued: Date | undefined,
): boolean {
  const isValidToken = issued === undefined || issued.getTime() + 999 >= Date.parse(tokenValidAfter)
  return status === 'ACTIVE' && open && !client.disabled && isValidToken
}

function bearerOf(request: Request): string {
  const [, token] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (!token) throw problems.unauthenticated()
  return token
}

function isSameSecret(secret: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(secret), digest(expected))
}
