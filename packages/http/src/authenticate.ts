import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import { firstParty, rolesWithin, type Credential, type Guard, type Role, type Standing } from '@sluice/contracts'
import { nobody, type Caller, type Presented } from './operation.ts'
import { problems } from './problem.ts'
import type { TokenVerifier } from './token.ts'

interface AuthenticatorOptions {
  verify: TokenVerifier
  /** Who comes with a credential, at most ten seconds old; undefined when there is no such user, session, application or token. */
  standing(credential: Credential): Promise<Standing | undefined>
  /** What the services prove themselves to each other with. */
  serviceSecret: string
}

/** What every API token begins with, so that people and scanners recognise one that leaked. */
export const apiTokenPrefix = 'sluice_'

/** How an API token is known: it is never kept. */
export const apiTokenHash = (token: string): string => createHash('sha256').update(token).digest('base64url')

/** Recognises the caller of a request by its bearer token. */
export function authenticator({ verify, standing, serviceSecret }: AuthenticatorOptions) {
  return async (request: Request, guard: Guard): Promise<Caller> => {
    const token = bearerOf(request)
    if (guard === 'service') {
      if (!sameSecret(token, serviceSecret))
        throw problems.unauthenticated('This is for services of the platform only.')
      return nobody
    }
    const given = await readCredential(token, verify)
    const caller = callerOf(await standing(given.credential), given)
    if (!caller) throw problems.unauthenticated('This sign-in, token or application has ended: sign in again.')
    return caller
  }
}

/** Whoever comes with a credential, as far as they may be relied on now. Undefined: not at all. */
export function callerOf(found: Standing | undefined, given: Presented): Caller | undefined {
  const { credential, issued, scope } = given
  if (!found || !isPrincipalActive(found, issued)) return undefined
  const within = (roles: readonly Role[]) => (scope === undefined ? roles : rolesWithin(roles, scope))
  return {
    kind: found.kind,
    inPerson: found.kind === 'session' && scope === undefined,
    uid: found.id,
    username: found.username,
    client: found.client.id,
    roles: within(found.roles),
    dormantRoles: within(found.dormantRoles ?? []),
    userGroups: found.userGroups,
    session: credential.session ?? '',
    given,
  }
}

/** Is somebody who was recognised a moment ago still who they were, with all that they could do then? */
export function isStill(caller: Caller, found: Standing | undefined): boolean {
  const now = caller.given && callerOf(found, caller.given)
  return (
    now !== undefined &&
    now.uid === caller.uid &&
    now.client === caller.client &&
    caller.roles.every((role) => now.roles.includes(role))
  )
}

async function readCredential(token: string, verify: TokenVerifier): Promise<Presented> {
  if (token.startsWith(apiTokenPrefix)) return { credential: { kind: 'api-token', id: apiTokenHash(token) } }
  const { sub, sid, client_id, scope = '', issued } = await verify(token)
  if (sid === undefined) return { credential: { kind: 'application', id: sub }, issued, scope }
  const credential: Credential = { kind: 'session', id: sub, session: sid }
  if (client_id === firstParty) return { credential, issued }
  // Not even who its user is: that is what its ID token and userinfo are for, as far as it may know.
  if (scope === '') throw problems.forbidden('This application was allowed nothing here: it has to ask for a role.')
  return { credential: { ...credential, application: client_id }, issued, scope }
}

/** Tokens carry whole seconds, so one issued in the very second of a change still stands. */
function isPrincipalActive({ status, open, client, tokenValidAfter }: Standing, issued: Date | undefined): boolean {
  const fresh = issued === undefined || issued.getTime() + 999 >= Date.parse(tokenValidAfter)
  return status === 'ACTIVE' && open && !client.disabled && fresh
}

function bearerOf(request: Request): string {
  const [, token] = /^Bearer ([\w.~+/=-]+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (!token) throw problems.unauthenticated()
  return token
}

function sameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(wanted))
}
