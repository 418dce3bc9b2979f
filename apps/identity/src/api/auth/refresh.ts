import type { RefreshBody, Tokens } from '@sluice/contracts'
import { problems } from '@sluice/http'
import { addRefreshToken, consumeRefreshToken, isRefreshToken } from '../../sign-in/refresh-tokens.ts'
import { continueSession } from '../../sign-in/sessions.ts'
import type { Asked } from '../operation.ts'
import { tokensOf } from './tokens.ts'

/** Exchanges a refresh token for the next one and a new access token. What is refused leaves its reason in the audit only. */
export async function refresh({ refreshToken }: RefreshBody, input: Asked): Promise<Tokens> {
  if (!(await isRefreshToken(input.db, refreshToken))) throw notRefreshed()
  const next = await input.write(async (trx) => {
    const used = await consumeRefreshToken(trx, refreshToken)
    const by = used.session && { user: used.session.user, client: used.session.client }
    input.request.audit(used.session?.uid ?? null, { outcome: used.outcome }, by)
    if (used.outcome !== 'refreshed') return undefined
    await continueSession(trx, used.session)
    return { session: used.session, refreshToken: await addRefreshToken(trx, used.session) }
  })
  if (!next) throw notRefreshed()
  return tokensOf(input, { ...next, user: next.session.user, client: next.session.client })
}

const notRefreshed = () =>
  problems.unauthenticated('This refresh token is not valid, or was used before: sign in again.')
