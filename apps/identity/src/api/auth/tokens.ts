import type { Tokens } from '@sluice/contracts'
import { accessToken } from '../../sign-in/access-token.ts'
import type { IdentityContext } from '../operation.ts'

interface Issued {
  user: string
  client: string
  session: { uid: string; expires_at: Date }
  refreshToken: string
}

/** What a sign-in and a refresh answer. */
export async function tokensOf(
  { keys, config }: IdentityContext,
  { user, client, session, refreshToken }: Issued,
): Promise<Tokens> {
  return {
    accessToken: await accessToken(keys, config, { user, client, session: session.uid }),
    tokenType: 'Bearer',
    expiresIn: config.ACCESS_TOKEN_SECONDS,
    refreshToken,
    refreshTokenExpires: session.expires_at.toISOString(),
  }
}
