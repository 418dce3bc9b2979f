import { createHash } from 'node:crypto'
import { errors, jwtVerify, type JWTVerifyGetKey } from 'jose'
import { accessTokenAudience, type AccessTokenClaims } from '@sluice/contracts'
import { problems } from './problem.ts'

export interface VerifiedToken extends Pick<AccessTokenClaims, 'sub' | 'client_id' | 'tenant'> {
  sid: string | undefined
  scope: string | undefined
  grant: string | undefined
  /** The time at which the token was issued. */
  issued: Date
}

export type TokenVerifier = (token: string) => Promise<VerifiedToken>

export interface TokenKeys {
  find: JWTVerifyGetKey
  /** Returns the current key set. It is the same object as long as the keys are the same. */
  ring(): Promise<object>
}

/** Tolerated difference between clocks, in seconds. */
const clockTolerance = 5
/** Milliseconds for which a verified signature is cached while the keys are unchanged. */
const verificationTtlMs = 60_000
/** The maximum number of cached tokens, which take about 5 MB. */
const maxCachedTokens = 10_000

interface CachedToken {
  claims: VerifiedToken
  /** The entry's expiry as Unix milliseconds, which is never after the token's own expiry. */
  until: number
  keySet: object
}

/**
 * Returns a function that verifies an access token and returns its claims. It throws 401 for an invalid token. The
 * signature check is the most expensive step, so a valid token is cached for a minute, until it expires or until the
 * keys change. The caller must check the principal's status for every request.
 */
export function tokenVerifier(issuer: string, keys: TokenKeys): TokenVerifier {
  // Valid tokens in insertion order. The key is a hash, so that no token is stored.
  const cache = new Map<string, CachedToken>()

  return async (token) => {
    const hash = createHash('sha256').update(token).digest('base64')
    const keySet = await keys.ring()
    const cached = cache.get(hash)
    const isCachedValid = cached !== undefined && cached.keySet === keySet && Date.now() < cached.until
    if (isCachedValid) return cached.claims
    cache.delete(hash)
    const verified = await verifyToken(token, issuer, keys.find)
    const [oldestHash] = cache.keys()
    if (cache.size >= maxCachedTokens) cache.delete(oldestHash!)
    cache.set(hash, { ...verified, keySet })
    return verified.claims
  }
}

/** Verifies signature, type, issuer, audience, times and required claims of a token. Throws 401. */
async function verifyToken(token: string, issuer: string, keys: JWTVerifyGetKey): Promise<Omit<CachedToken, 'keySet'>> {
  try {
    const { payload } = await jwtVerify<AccessTokenClaims>(token, keys, {
      issuer,
      audience: accessTokenAudience,
      algorithms: ['ES256'],
      typ: 'at+jwt',
      requiredClaims: ['sub', 'exp', 'iat', 'tenant', 'client_id'],
      clockTolerance,
    })
    const { sub, sid, tenant, client_id, scope, grant, iat = 0, exp = 0 } = payload
    const claims = { sub, sid, tenant, client_id, scope, grant, issued: new Date(iat * 1000) }
    return { claims, until: Math.min(Date.now() + verificationTtlMs, (exp + clockTolerance) * 1000) }
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      throw problems.unauthenticated('The access token has expired. Refresh it, or sign in again.')
    if (error instanceof errors.JOSEError) throw problems.unauthenticated('The access token is not valid here.')
    throw error
  }
}
