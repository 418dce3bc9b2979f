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
  const anonymous = serviceClient({ baseUrl: identityUrl })
  const renewTokenIfDue = renewedToken(async () => {
    const { refreshToken } = currentTokens ?? tokens
    currentTokens = await anonymous.call(auth.refresh, { body: { refreshToken } })
    return currentTokens
  }, tokens)
  const token: UserSession['token'] = async (rejected) => {
    if (!currentTokens) throw new Error('This session has ended. Sign in again.')
    return renewTokenIfDue(rejected)
  }
  const identity = serviceClient({ baseUrl: identityUrl, token })
  return {
    token,
    async signOut() {
      if (!currentTokens) return
      try {
        await identity.call(auth.logout)
      } catch (error) {
        // The session has already ended.
        if (!(error instanceof RemoteProblem && error.status === 401)) throw error
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
 * Returns a token source that calls `renew` if it has no token, shortly before the token expires, and after a service
 * has rejected it. Concurrent requests share one renewal, because a refresh token can be used only once. If renewal
 * fails because of the connection, the current token is used until it expires.
 */
export function renewedToken(renew: () => Promise<AccessToken>, first?: AccessToken): UserSession['token'] {
  let current = first && computeValidity(first)
  let renewing: Promise<string> | undefined

  async function renewOnce(rejected: string | undefined): Promise<string> {
    try {
      current = computeValidity(await renew())
    } catch (error) {
      const isUsable = current && current.token !== rejected && Date.now() < current.end
      if (!isUsable || !(error instanceof ServiceUnavailable)) throw error
    }
    return current!.token
  }

  return async (rejected) => {
    if (current && current.token !== rejected && Date.now() < current.renewal) return current.token
    renewing ??= renewOnce(rejected).finally(() => {
      renewing = undefined
    })
    return renewing
  }
}

/** Returns a token with the times at which it must be renewed and expires, as Unix milliseconds. */
function computeValidity({ accessToken: token, expiresIn }: AccessToken) {
  const end = Date.now() + expiresIn * 1000
  return { token, end, renewal: end - Math.min(marginSeconds, expiresIn / 2) * 1000 }
}
