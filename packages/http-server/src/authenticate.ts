import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import {
  consoleApplication,
  firstParty,
  selectHeldRoles,
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
  /**
   * Returns the principal (user or application) of a credential. The result is at most ten seconds old. Returns
   * undefined if the user, session, application or token does not exist.
   */
  findPrincipal(credential: Credential): Promise<PrincipalState | undefined>
  /** The shared secret with which one service authenticates to the other. */
  serviceSecret: string
}

/** The prefix of every API token. It lets people and secret scanners recognise a leaked token. */
export const apiTokenPrefix = 'sluice_'

/** Returns the hash by which an API token is looked up. The token itself is never stored. */
export const hashApiToken = (token: string): string => createHash('sha256').update(token).digest('base64url')

/**
 * Returns a function that identifies the caller of a request by its bearer token. The function throws 401 and 403
 * problems.
 */
export function createAuthenticator({ verify, findPrincipal, serviceSecret }: AuthenticatorOptions) {
  return async (request: Request, guard: OperationGuard): Promise<Caller> => {
    const token = readBearerToken(request)
    if (guard === 'service') {
      if (!isSameSecret(token, serviceSecret))
        throw problems.unauthenticated('Only the services of this installation can call this operation.')
      return anonymousCaller
    }
    const presented = await readCredential(token, verify)
    const principal = await findPrincipal(presented.credential)
    const caller = toCaller(principal, presented)
    if (!caller) throw problems.unauthenticated('This session, token or application has ended. Sign in again.')
    return caller
  }
}

/**
 * Returns the caller with those roles of the principal that are in the token's scope. Returns undefined if the
 * principal is missing or inactive, or the token was revoked.
 */
export function toCaller(principal: PrincipalState | undefined, presented: PresentedCredential): Caller | undefined {
  const { credential, issued, scope } = presented
  if (!principal || !isPrincipalActive(principal, issued)) return undefined
  const hasAllRoles = scope === undefined
  const limitToScope = (roles: readonly Role[]) => (hasAllRoles ? roles : selectHeldRoles(roles, scope))
  return {
    kind: principal.kind,
    inPerson: principal.kind === 'session' && hasAllRoles,
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

/** Returns whether a caller still exists in the same organisation and has kept all its roles. */
export function isCallerUnchanged(caller: Caller, principal: PrincipalState | undefined): boolean {
  const current = caller.presented && toCaller(principal, caller.presented)
  return (
    current !== undefined &&
    current.uid === caller.uid &&
    current.client === caller.client &&
    caller.roles.every((role) => current.roles.includes(role))
  )
}

/**
 * Returns the credential of a bearer token, which is an API token or an access token. Throws 401 for an invalid access
 * token, and 403 for that of an application without a role.
 */
async function readCredential(token: string, verify: TokenVerifier): Promise<PresentedCredential> {
  if (token.startsWith(apiTokenPrefix)) return { credential: { kind: 'api-token', id: hashApiToken(token) } }
  const presented = toPresentedCredential(await verify(token))
  // An application without a scope may not read the user here either; the ID token and userinfo serve that purpose.
  const isApplicationWithoutRole = presented.credential.application !== undefined && presented.scope === ''
  if (isApplicationWithoutRole)
    throw problems.forbidden(
      'The application has no role for this service. Request a role in the scope of the sign-in.',
    )
  return presented
}

/**
 * Returns the credential that a verified access token contains. Tokens of the sign-in itself and of the console have
 * all roles of the user, so they have no scope. The scope of all other tokens limits the roles.
 */
export function toPresentedCredential(token: VerifiedToken): PresentedCredential {
  const { sub, sid, client_id, scope, grant, issued } = token
  const isApplicationForItself = sid === undefined
  if (isApplicationForItself) return { credential: { kind: 'application', id: sub }, issued, scope: scope ?? '' }
  const session: Credential = { kind: 'session', id: sub, session: sid }
  const isFromSignIn = client_id === firstParty
  if (isFromSignIn) return { credential: session, issued }
  const credential = { ...session, application: client_id, ...(grant !== undefined && { grant }) }
  // A console token with a scope was issued by an earlier version to a registered application with the same id.
  const isFromConsole = client_id === consoleApplication && scope === undefined
  return isFromConsole ? { credential, issued } : { credential, issued, scope: scope ?? '' }
}

/**
 * Returns whether the principal is active and the token was issued after the last revocation. Tokens contain whole
 * seconds, so a token issued in the second of a change stays valid.
 */
function isPrincipalActive(
  { status, open, client, tokenValidAfter }: PrincipalState,
  issued: Date | undefined,
): boolean {
  const isValidToken = issued === undefined || issued.getTime() + 999 >= Date.parse(tokenValidAfter)
  return status === 'ACTIVE' && open && !client.disabled && isValidToken
}

function readBearerToken(request: Request): string {
  const [, token] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (!token) throw problems.unauthenticated()
  return token
}

function isSameSecret(secret: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(secret), digest(expected))
}
