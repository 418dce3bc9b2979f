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
  const refreshToken = generateRefreshToken()
  const result = await signIn(body, createSignInContext(input, refreshToken))
  if (result.kind === 'signed-in') return issueTokensFor(result, refreshToken, input)
  return { secondFactor: { ticket: result.ticket, methods: result.methods } }
}

/** Completes a sign-in with a code. */
export async function loginWithCode(body: LoginCodeBody, input: IdentityRequestContext): Promise<TokenPair> {
  const refreshToken = generateRefreshToken()
  const signedIn = await signInWithCode(body, createSignInContext(input, refreshToken))
  return issueTokensFor(signedIn, refreshToken, input)
}

/** Returns the context of a sign-in that stores `refreshToken` in the transaction that opens the session. */
function createSignInContext(
  { db, write, config, request }: IdentityRequestContext,
  refreshToken: string,
): SignInContext {
  return {
    db,
    write,
    config,
    request: {
      address: request.address,
      userAgent: request.stream.headers['user-agent'] ?? '',
      audit: (object, details, actor) => request.audit(object, details, actor),
    },
    async onSessionOpened(trx, session) {
      await addRefreshToken(trx, session, refreshToken)
    },
  }
}

const issueTokensFor = ({ user, session }: SignedIn, refreshToken: string, input: IdentityRequestContext) =>
  issueTokens(input, { user: user.uid, client: user.client, session, refreshToken })
