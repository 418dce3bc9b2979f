import type { KeyRing } from '@sluice/database'
import { openSecrets, sealSecrets, type Secrets } from './sealed-secrets.ts'

/** Passwords and tokens of a source, by name. Open only where they are used. */
export type SourceSecrets = Secrets

interface Row {
  uid: string
  source_secrets: string | null
}

const purpose = (uid: string) => `data_pipelines.source_secrets:${uid}`

/** Throws `SealProblem` when the key is not in the ring. */
export const openSourceSecrets = ({ uid, source_secrets }: Row, ring: KeyRing): SourceSecrets =>
  openSecrets(source_secrets, purpose(uid), ring)

/** Null for none. */
export const sealSourceSecrets = (uid: string, secrets: SourceSecrets, ring: KeyRing): string | null =>
  sealSecrets(secrets, purpose(uid), ring)
