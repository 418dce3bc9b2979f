import {
  identityOperations,
  type LoginAnswer,
  type LoginBody,
  type LoginCodeBody,
  type TokenPair,
} from '@sluice/contracts'
import { addRefreshToken, generateRefreshToken } from '../../sign-in/sessions/refresh-tokens.ts'
import { endSession } from '../../sign-in/sessions/sessions.ts'
import { type SignedIn, signIn, type SignInContext, signInWithCode } from '../../sign-in/password/password-sign-in.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { finishSso, startSso } from './sso-sign-in.ts'
import { refreshTokens, issueTokens } from './issue-tokens.ts'

export const authOperations = {
  login: defineIdentityOperation(identityOperations.auth.login, (input) => loginWithPassword(input.body, input)),

  loginWithCode: defineIdentityOperation(identityOperations.auth.loginWithCode, (input) =>
    loginWithCode(input.body, input),
  ),

  refresh: defineIdentityOperation(identityOperations.auth.refresh, (input) => refreshTokens(input.body, input)),

  // Must precede startSso, because its path would match "callback" as a client code.
  finishSso: defineIdentityOperation(identityOperations.auth.finishSso, (input) => finishSso(input.query, input)),

  startSso: defineIdentityOperation(identityOperations.auth.startSso, (input) =>
    startSso(input.params.clientCode, input.query, input),
  ),

  logout: defineIdentityOperation(identityOperations.auth.logout, async ({ write, caller, request }) => {
    await write(async (trx) => {
      request.audit(caller.session)
      await endSession(trx, caller.session, 'SIGNED_OUT')
    })
    return undefined
  }),
}

/** Signs in with a password. Returns tokens, or a ticket if a code is required. */
export async function loginWithPassword(body: LoginBody, input: IdentityRequestContext): Promise<LoginAnswer> {
  const { context, issueTokensFor } = createTokenSignIn(input)
  const result = await signIn(body, context)
  if (result.kind === 'signed-in') return issueTokensFor(result)
  return { secondFactor: { ticket: result.ticket, methods: result.methods } }
}

/** Completes a sign-in with a code. */
export async function loginWithCode(body: LoginCodeBody, input: IdentityRequestContext): Promise<TokenPair> {
  const { context, issueTokensFor } = createTokenSignIn(input)
  return issueTokensFor(await signInWithCode(body, context))
}

/**
 * Generates a refresh token. Returns a sign-in context that stores this token when the session opens, and a function
 * that returns it together with a new access token.
 */
function createTokenSignIn(input: IdentityRequestContext) {
  const { db, write, config, request } = input
  const refreshToken = generateRefreshToken()
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
  const issueTokensFor = ({ user, session }: SignedIn) =>
    issueTokens(input, { user: user.uid, client: user.client, session, refreshToken })
  return { context, issueTokensFor }
}
