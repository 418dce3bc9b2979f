import type { RefreshBody, TokenPair } from '@sluice/contracts'
import { signAccessToken } from '../../sign-in/tokens/access-token.ts'
import type { IdentityRequestContext, IdentityContext } from '../operation-context.ts'
import { problems } from '@sluice/http-server'
import { exchangeRefreshToken, isRefreshToken, refuseRefresh } from '../../sign-in/sessions/refresh-tokens.ts'

interface IssuedSession {
  user: string
  client: string
  session: { uid: string; expires_at: Date }
  refreshToken: string
}

/** Signs an access token for the session and returns it with the session's refresh token. */
export async function issueTokens(
  { keys, config }: IdentityContext,
  { user, client, session, refreshToken }: IssuedSession,
): Promise<TokenPair> {
  return {
    accessToken: await signAccessToken(keys, config, { user, client, session: session.uid }),
    tokenType: 'Bearer',
    expiresIn: config.ACCESS_TOKEN_SECONDS,
    refreshToken,
    refreshTokenExpires: session.expires_at.toISOString(),
  }
}

/**
 * Exchanges a refresh token for the next one and a new access token. Throws 401 without a reason if the token is
 * refused. The audit log has the reason, unless the token never existed.
 */
export async function refreshTokens({ refreshToken }: RefreshBody, input: IdentityRequestContext): Promise<TokenPair> {
  const refreshed = await input.write.inOneStatement((db, auditContext) =>
    exchangeRefreshToken(db, refreshToken, auditContext),
  )
  if (refreshed) return issueTokens(input, refreshed)
  if (await isRefreshToken(input.db, refreshToken)) {
    await input.write(async (trx) => {
      const refused = await refuseRefresh(trx, refreshToken)
      input.request.audit(refused?.session ?? null, { outcome: refused?.outcome ?? 'unknown' }, refused?.actor)
    })
  }
  throw problems.unauthenticated('The refresh token is invalid or has already been used. Sign in again.')
}
