import type { KeyRing } from '@sluice/database'

/** Passwords and tokens, by name. Open only where they are used. */
export type Secrets = Readonly<Record<string, string>>

/** Throws `SealProblem` when the key is not in the ring. */
export const openSecrets = (sealed: string | null, purpose: string, ring: KeyRing): Secrets =>
  sealed === null ? {} : (JSON.parse(ring.open(sealed, purpose)) as Secrets)

/** Null for none. */
export const sealSecrets = (secrets: Secrets, purpose: string, ring: KeyRing): string | null =>
  Object.keys(secrets).length === 0 ? null : ring.seal(JSON.stringify(secrets), purpose)
