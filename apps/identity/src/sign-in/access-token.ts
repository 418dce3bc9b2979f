import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { accessTokenAudience, firstParty, type AccessTokenClaims } from '@sluice/contracts'
import type { Config } from '../config.ts'
import type { SigningKeys } from './keys.ts'

/** A signed access token (RFC 9068). Roles are not in it: every service asks what the user may do now. */
export async function accessToken(
  keys: SigningKeys,
  config: Pick<Config, 'IDENTITY_PUBLIC_URL' | 'ACCESS_TOKEN_SECONDS'>,
  { user, client, session }: { user: string; client: string; session: string },
): Promise<string> {
  const { kid, key } = await keys.current()
  const claims: Omit<AccessTokenClaims, 'sub'> = { client_id: firstParty, tenant: client, sid: session }
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(config.IDENTITY_PUBLIC_URL)
    .setAudience(accessTokenAudience)
    .setSubject(user)
    .setJti(randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(now + config.ACCESS_TOKEN_SECONDS)
    .sign(key)
}
