import type { RefreshBody, Tokens } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { exchangeRefreshToken, isRefreshToken, refuseRefresh } from '../../sign-in/refresh-tokens.ts'
import type { Asked } from '../operation.ts'
import { tokensOf } from './tokens.ts'

/** Exchanges a refresh token for the next one and a new access token. What is refused leaves its reason in the audit only. */
export async function refresh({ refreshToken }: RefreshBody, input: Asked): Promise<Tokens> {
  const refreshed = await input.write.atOnce((db, facts) => exchangeRefreshToken(db, refreshToken, facts))
  if (refreshed) return tokensOf(input, refreshed)
  if (await isRefreshToken(input.db, refreshToken)) {
    await input.write(async (trx) => {
      const refused = await refuseRefresh(trx, refreshToken)
      input.request.audit(refused?.session ?? null, { outcome: refused?.outcome ?? 'unknown' }, refused?.by)
    })
  }
  throw problems.unauthenticated('This refresh token is not valid, or was used before: sign in again.')
}
