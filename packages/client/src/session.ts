import { ServiceUnavailable, RemoteProblem } from './service-errors.ts'
import { auth, type SecondFactorDemand, type Tokens } from './generated/identity.ts'
import { serviceClient } from './service-client.ts'

/** A user after sign-in. The tokens are only in memory. */
export interface UserSession {
  /** For `serviceClient({ baseUrl, token })`. Returns an access token, and renews it before it expires. */
  token: (rejected?: string) => Promise<string>
  /** Ends the session for all programs that have its tokens. */
  signOut(): Promise<void>
}

export interface PasswordSignIn {
  /** The address of the identity service, such as `https://id.example.org`. */
  identityUrl: string
  username: string
  password: string
}

/** The password was correct, and the user must also enter a second factor. */
export class SecondFactorRequired extends Error {
  override readonly name = 'SecondFactorRequired'
  /** The accepted factors: `TOTP`, the code of an authenticator app, or `RECOVERY_CODE`. */
  readonly methods: readonly string[]
  /**
   * Completes the sign-in within five minutes. Throws `RemoteProblem` for a wrong code; it can then be called again
   * with another code.
   */
  readonly confirm: (code: string) => Promise<UserSession>

  constructor({ methods }: SecondFactorDemand['secondFactor'], confirm: (code: string) => Promise<UserSession>) {
    super('This user has a second factor: confirm the sign-in with a code.')
    this.methods = methods
    this.confirm = confirm
  }
}

/** Signs in with a password. Throws `SecondFactorRequired`, or `RemoteProblem` for a wrong password. */
export async function signIn({ identityUrl, username, password }: PasswordSignIn): Promise<UserSession> {
  const identity = serviceClient({ baseUrl: identityUrl })
  const answer = await identity.call(auth.login, { body: { username, password } })
  if (!('secondFactor' in answer)) return sessionFromTokens(identityUrl, answer)
  const { ticket } = answer.secondFactor
  throw new SecondFactorRequired(answer.secondFactor, async (code) =>
    sessionFromTokens(identityUrl, await identity.call(auth.loginWithCode, { body: { ticket, code } })),
  )
}

/** Returns a session for tokens that the identity service issued. Only one session may use a refresh token. */
export function sessionFromTokens(identityUrl: string, tokens: Tokens): UserSession {
  /** Undefined after sign-out. */
  let currentTokens: Tokens | undefined = tokens
  const anonymousClient = serviceClient({ baseUrl: identityUrl })
  const renewTokens = async () => {
    const { refreshToken } = currentTokens ?? tokens
    currentTokens = await anonymousClient.call(auth.refresh, { body: { refreshToken } })
    return currentTokens
  }
  const getValidToken = renewedToken(renewTokens, tokens)
  const token: UserSession['token'] = async (rejectedToken) => {
    if (!currentTokens) throw new Error('This session has ended. Sign in again.')
    return getValidToken(rejectedToken)
  }
  const identity = serviceClient({ baseUrl: identityUrl, token })
  return {
    token,
    async signOut() {
      if (!currentTokens) return
      try {
        await identity.call(auth.logout)
      } catch (error) {
        const hasAlreadyEnded = error instanceof RemoteProblem && error.status === 401
        if (!hasAlreadyEnded) throw error
      }
      currentTokens = undefined
    },
  }
}

/** An access token and the number of seconds for which it is valid. */
interface AccessToken {
  accessToken: string
  expiresIn: number
}

/**
 * A token is renewed this many seconds before it expires. That is longer than any request needs until its token is
 * checked.
 */
const marginSeconds = 60

/**
 * Returns a function that returns a valid access token. The function calls `renew` if it has no token, shortly before
 * the token expires, and when its caller passes the token because a service rejected it. If renewal fails because of
 * the connection, it returns the current token until that expires.
 */
export function renewedToken(renew: () => Promise<AccessToken>, first?: AccessToken): UserSession['token'] {
  let current = first && computeValidity(first)
  /** The renewal in progress. Concurrent callers share it, because a refresh token can be used only once. */
  let renewal: Promise<string> | undefined

  async function renewToken(rejectedToken: string | undefined): Promise<string> {
    try {
      current = computeValidity(await renew())
      return current.token
    } catch (error) {
      const isCurrentUsable = current && current.token !== rejectedToken && Date.now() < current.expiresAt
      if (isCurrentUsable && error instanceof ServiceUnavailable) return current!.token
      throw error
    }
  }

  return async (rejectedToken) => {
    const isCurrentValid = current && current.token !== rejectedToken && Date.now() < current.renewAt
    if (isCurrentValid) return current!.token
    renewal ??= renewToken(rejectedToken).finally(() => {
      renewal = undefined
    })
    return renewal
  }
}

/** Returns a token with the times at which it must be renewed and expires, as Unix milliseconds. */
function computeValidity({ accessToken: token, expiresIn }: AccessToken) {
  const expiresAt = Date.now() + expiresIn * 1000
  return { token, expiresAt, renewAt: expiresAt - Math.min(marginSeconds, expiresIn / 2) * 1000 }
}
