import type { LoginBody, Tokens } from '@sluice/contracts'
import { addRefreshToken } from '../../sign-in/refresh-tokens.ts'
import { signIn, type SignInContext } from '../../sign-in/sign-in.ts'
import type { Asked } from '../operation.ts'
import { tokensOf } from './tokens.ts'

/** Signs in with a password, for tokens. */
export async function login(body: LoginBody, input: Asked): Promise<Tokens> {
  const { context, refreshToken } = forTokens(input)
  const result = await signIn(body, context)
  if (result.kind !== 'signed-in') throw new Error('No second factor can be enrolled yet.')
  const { user, session } = result
  return tokensOf(input, { user: user.uid, client: user.client, session, refreshToken: refreshToken() })
}

/** A sign-in that ends in tokens: the first refresh token is made with the session. */
function forTokens({ db, write, config, request }: Asked) {
  let refreshToken = ''
  const context: SignInContext = {
    db,
    write,
    config,
    request: {
      address: request.address,
      userAgent: request.stream.headers['user-agent'] ?? '',
      audit: (...note) => request.audit(...note),
    },
    async opened(trx, session) {
      refreshToken = await addRefreshToken(trx, session)
    },
  }
  return { context, refreshToken: () => refreshToken }
}
