import type { RefreshBody, TokenPair } from '@sluice/contracts'
import { signAccessToken } from '../../sign-in/tokens/access-token.ts'
import type { IdentityRequestContext, IdentityContext } from '../operation-context.ts'
import { problems } from '@sluice/http-server'
import {
  exchangeRefreshToken,
  refreshTokenExists,
  handleRefusedRefreshToken,
} from '../../sign-in/sessions/refresh-tokens.ts'

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
 * Exchanges a refresh token for the next one and a new access token. If the token is refused, throws 401 and writes the
 * reason to the audit log only. A token that never existed is not audited, because an attacker can invent any number.
 */
export async function refreshTokens({ refreshToken }: RefreshBody, input: IdentityRequestContext): Promise<TokenPair> {
  // The exchange writes its own audit row, in the same SQL statement.
  const refreshed = await input.write.inOneStatement((db, auditContext) =>
    exchangeRefreshToken(db, refreshToken, auditContext),
  )
  if (refreshed) return issueTokens(input, refreshed)
  if (await refreshTokenExists(input.db, refreshToken)) await auditRefusedToken(refreshToken, input)
  throw problems.unauthenticated('The refresh token is invalid or has already been used. Sign in again.')
}

/** Writes the reason for a refused refresh token to the audit log, and ends its session if the token looks stolen. */
const auditRefusedToken = (refreshToken: string, { write, request }: IdentityRequestContext): Promise<void> =>
  write(async (trx) => {
    const refusal = await handleRefusedRefreshToken(trx, refreshToken)
    request.audit(refusal?.session ?? null, { outcome: refusal?.outcome ?? 'unknown' }, refusal?.actor)
  })
