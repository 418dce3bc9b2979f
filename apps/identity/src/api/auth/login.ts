import type { LoginAnswer, LoginBody, LoginCodeBody, Tokens } from '@sluice/contracts'
import { addRefreshToken, newRefreshToken } from '../../sign-in/sessions/refresh-tokens.ts'
import { signIn, signInWithCode, type SignedIn, type SignInContext } from '../../sign-in/password/password-sign-in.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { tokensOf } from './tokens.ts'

/** Signs in with a password. Returns tokens, or a ticket if a code is required. */
export async function login(body: LoginBody, input: IdentityRequestContext): Promise<LoginAnswer> {
  const { context, tokensFor } = forTokens(input)
  const result = await signIn(body, context)
  if (result.kind === 'signed-in') return tokensFor(result)
  return { secondFactor: { ticket: result.ticket, methods: result.methods } }
}

/** Completes a sign-in with a code. */
export async function loginWithCode(body: LoginCodeBody, input: IdentityRequestContext): Promise<Tokens> {
  const { context, tokensFor } = forTokens(input)
  return tokensFor(await signInWithCode(body, context))
}

/** Returns a sign-in context that creates the first refresh token with the session, and a function for the tokens. */
function forTokens(input: IdentityRequestContext) {
  const { db, write, config, request } = input
  const refreshToken = newRefreshToken()
  const context: SignInContext = {
    db,
    write,
    config,
    request: {
      address: request.address,
      userAgent: request.stream.headers['user-agent'] ?? '',
      audit: (...note) => request.audit(...note),
    },
    async onSessionOpened(trx, session) {
      await addRefreshToken(trx, session, refreshToken)
    },
  }
  const tokensFor = ({ user, session }: SignedIn) =>
    tokensOf(input, { user: user.uid, client: user.client, session, refreshToken })
  return { context, tokensFor }
}
