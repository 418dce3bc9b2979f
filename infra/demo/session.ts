import { serviceClient } from '@sluice/client'
import { identityOperations, type TokenPair } from '@sluice/contracts'

/** A session with the identity service. Disposing it signs out. */
export interface Session extends AsyncDisposable {
  /** Returns an access token that is valid for another minute. */
  token(): Promise<string>
}

const { auth } = identityOperations
/** Milliseconds: longer than any request needs until its token is checked. */
const margin = 60_000

/**
 * Signs in with a password, and renews the tokens before they expire. Rejects with RemoteProblem or ServiceUnavailable.
 */
export async function signIn(identityUrl: string, username: string, password: string): Promise<Session> {
  let held: { tokens: TokenPair; until: number } | undefined
  let refreshing: Promise<string> | undefined
  const identity = serviceClient({
    baseUrl: identityUrl,
    token: () => held?.tokens.accessToken,
    timeout: 15_000,
  })
  const hold = (tokens: TokenPair): string => {
    held = { tokens, until: Date.now() + tokens.expiresIn * 1000 }
    return tokens.accessToken
  }
  const refresh = async ({ refreshToken }: TokenPair): Promise<string> =>
    hold(await identity.call(auth.refresh, { body: { refreshToken } }))

  const opened = await identity.call(auth.login, { body: { username, password } })
  if ('secondFactor' in opened) throw new Error(`${username} has a second factor: sign in as somebody without one.`)
  hold(opened)
  return {
    async token() {
      const { tokens, until } = held ?? { tokens: opened, until: 0 }
      if (Date.now() < until - margin) return tokens.accessToken
      // A refresh token is valid once, so concurrent calls share one renewal.
      return (refreshing ??= refresh(tokens).finally(() => (refreshing = undefined)))
    },
    async [Symbol.asyncDispose]() {
      await identity.call(auth.logout).catch(() => {})
    },
  }
}
