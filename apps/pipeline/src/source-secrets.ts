import type { KeyRing } from '@sluice/database'

/** Passwords and tokens of a source, by name. Open only where they are used. */
export type SourceSecrets = Readonly<Record<string, string>>

interface Row {
  uid: string
  source_secrets: string | null
}

const purpose = (uid: string) => `data_pipelines.source_secrets:${uid}`

/** Throws `SealProblem` when the key is not in the ring. */
export const openSourceSecrets = ({ uid, source_secrets }: Row, ring: KeyRing): SourceSecrets =>
  source_secrets === null ? {} : (JSON.parse(ring.open(source_secrets, purpose(uid))) as SourceSecrets)

/** Null for none. */
export const sealSourceSecrets = (uid: string, secrets: SourceSecrets, ring: KeyRing): string | null =>
  Object.keys(secrets).length === 0 ? null : ring.seal(JSON.stringify(secrets), purpose(uid))
