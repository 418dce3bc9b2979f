import { createHmac, randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { KeyRing } from '@sluice/database'
import type { DB } from '../../database.ts'
import { hashSecret } from '../../stored-secrets.ts'

/** The maximum time in seconds between the start of a sign-in and its callback. */
export const stateLifetimeSeconds = 600

/**
 * A pending sign-in. It is sealed in the OAuth parameter `state`, so that starting a sign-in needs no database write.
 */
export interface PendingSignIn {
  /** The uid of the SSO provider config. */
  config: string
  issuer: string
  /** The hash of the browser's secret. Only the browser that started the sign-in can finish it. */
  browser: string
  /** The interaction of the OpenID Provider from which the sign-in started. */
  interaction?: string
  /** Seconds since 1970. */
  expires: number
}

const statePurpose = 'sso.state'
const encodeHash = (text: string): string => hashSecret(text).toString('base64url')

/** Starts a sign-in. Returns the `state` parameter for the provider and the secret for the browser's cookie. */
export function createPendingSignIn(
  ring: KeyRing,
  signInFacts: Pick<PendingSignIn, 'config' | 'issuer' | 'interaction'>,
) {
  const secret = randomBytes(32).toString('base64url')
  const expires = Math.floor(Date.now() / 1000) + stateLifetimeSeconds
  const pending: PendingSignIn = { ...signInFacts, browser: encodeHash(secret), expires }
  return { pending, secret, state: ring.seal(JSON.stringify(pending), statePurpose) }
}

/** Returns the pending sign-in of a `state` parameter; undefined if it is forged or expired. */
export function parseState(ring: KeyRing, state: string): PendingSignIn | undefined {
  try {
    const pending = JSON.parse(ring.open(state, statePurpose)) as PendingSignIn
    return pending.expires * 1000 > Date.now() ? pending : undefined
  } catch {
    return undefined
  }
}

/** Returns whether the secret is that of the browser that started the sign-in. */
export const isSameBrowser = ({ browser }: PendingSignIn, secret: string): boolean => encodeHash(secret) === browser

/**
 * Returns the values that bind the provider's code and ID token to this browser. Both derive from the secret in the
 * browser's cookie. So stored or transmitted data alone is not enough to finish another user's sign-in.
 */
export const deriveNonceAndVerifier = (secret: string) => ({
  nonce: deriveFromSecret(secret, 'nonce'),
  codeVerifier: deriveFromSecret(secret, 'code verifier'),
})

const deriveFromSecret = (secret: string, purpose: string): string =>
  createHmac('sha256', secret).update(purpose).digest('base64url')

/** Marks a `state` parameter as used. Returns true for only one of several concurrent callbacks. */
export async function consumeState(db: Kysely<DB>, state: string, { expires }: PendingSignIn): Promise<boolean> {
  const { rows } = await sql`
    insert into sso_used_states (state_hash, expires_at)
    values (${hashSecret(state)}, to_timestamp(${expires}))
    on conflict do nothing returning state_hash`.execute(db)
  return rows.length === 1
}
