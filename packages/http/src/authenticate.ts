import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import type { Guard, Standing } from '@sluice/contracts'
import { nobody, type Caller } from './operation.ts'
import { problems } from './problem.ts'
import type { TokenVerifier, VerifiedToken } from './token.ts'

interface Authentication {
  verify: TokenVerifier
  /** What is known of the user now, at most ten seconds old; undefined when there is no such user or session. */
  standing(token: VerifiedToken): Promise<Standing | undefined>
  /** What the services prove themselves to each other with. */
  serviceSecret: string
}

/** Recognises the caller of a request by its bearer token. */
export function authenticator({ verify, standing, serviceSecret }: Authentication) {
  return async (request: Request, guard: Guard): Promise<Caller> => {
    const token = bearerOf(request)
    if (guard === 'service') {
      if (!sameSecret(token, serviceSecret))
        throw problems.unauthenticated('This is for services of the platform only.')
      return nobody
    }
    const verified = await verify(token)
    const found = await standing(verified)
    if (!found || !stands(found, verified.issued))
      throw problems.unauthenticated('The session has ended: sign in again.')
    return {
      uid: found.id,
      username: found.username,
      client: found.client.id,
      roles: found.roles,
      userGroups: found.userGroups,
      session: verified.sid,
    }
  }
}

/** Tokens carry whole seconds, so one issued in the very second of a change still stands. */
function stands({ status, sessionOpen, client, tokenValidAfter }: Standing, issued: Date): boolean {
  return status === 'ACTIVE' && sessionOpen && !client.disabled && issued.getTime() + 999 >= Date.parse(tokenValidAfter)
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
