import { randomUUID, sign } from 'node:crypto'
import { accessTokenAudience, firstParty, type AccessTokenClaims } from '@sluice/contracts'
import type { Config } from '../../config.ts'
import type { SigningKeys } from './signing-keys.ts'

/**
 * Returns a signed access token (RFC 9068). It contains no roles, because every service reads the user's current roles.
 *
 * Signs synchronously, which takes 50 µs. The thread pool is busy with passwords, and handing the work over to it takes
 * about as long as the signature itself.
 */
export async function signAccessToken(
  keys: SigningKeys,
  config: Pick<Config, 'IDENTITY_PUBLIC_URL' | 'ACCESS_TOKEN_SECONDS'>,
  { user, client, session }: { user: string; client: string; session: string },
): Promise<string> {
  const { kid, key } = await keys.current()
  const now = Math.floor(Date.now() / 1000)
  const claims: AccessTokenClaims & RegisteredClaims = {
    client_id: firstParty,
    tenant: client,
    sid: session,
    iss: config.IDENTITY_PUBLIC_URL,
    aud: accessTokenAudience,
    sub: user,
    jti: randomUUID(),
    iat: now,
    exp: now + config.ACCESS_TOKEN_SECONDS,
  }
  const signed = `${encodeTokenPart({ alg: 'ES256', typ: 'at+jwt', kid })}.${encodeTokenPart(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** The claims that RFC 9068 requires. Times are in seconds since 1970. */
interface RegisteredClaims {
  iss: string
  aud: string
  jti: string
  iat: number
  exp: number
}

const encodeTokenPart = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
