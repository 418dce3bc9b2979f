import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { accessTokenAudience, type AccessTokenClaims } from '@sluice/contracts'
import { problems } from './problem.ts'

export interface VerifiedToken extends Pick<AccessTokenClaims, 'sub' | 'client_id' | 'tenant'> {
  sid: string | undefined
  scope: string | undefined
  /** When it was issued. */
  issued: Date
}

export type TokenVerifier = (token: string) => Promise<VerifiedToken>

/** Checks an access token: ES256 only, typ at+jwt, issuer, audience, times, and the claims we rely on. Throws 401. */
export function tokenVerifier(issuer: string, keys: JWTVerifyGetKey): TokenVerifier {
  return async (token) => {
    try {
      const { payload } = await jwtVerify<AccessTokenClaims>(token, keys, {
        issuer,
        audience: accessTokenAudience,
        algorithms: ['ES256'],
        typ: 'at+jwt',
        requiredClaims: ['sub', 'exp', 'iat', 'tenant', 'client_id'],
        clockTolerance: 5,
      })
      const { sub, sid, tenant, client_id, scope, iat = 0 } = payload
      return { sub, sid, tenant, client_id, scope, issued: new Date(iat * 1000) }
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throw problems.unauthenticated('The access token has ended: refresh it, or sign in again.')
      if (error instanceof errors.JWKSTimeout || isNetworkError(error))
        throw problems.unavailable('identity service', error)
      if (error instanceof errors.JOSEError) throw problems.unauthenticated('The access token is not valid here.')
      throw error
    }
  }
}

/** The published keys of the identity service, cached; a key id that is new is asked for at most every ten seconds. */
export function publishedKeys(identityUrl: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(`${identityUrl}/.well-known/jwks.json`), {
    cacheMaxAge: 24 * 60 * 60 * 1000,
    cooldownDuration: 10_000,
    timeoutDuration: 3_000,
  })
}

/** `fetch failed` is how fetch says that there was no answer; what is no key set is the other. */
const isNetworkError = (error: unknown): boolean =>
  (error as Error).message === 'fetch failed' ||
  (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC')
