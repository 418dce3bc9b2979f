import type { KeyRing } from '@sluice/database'
import type { GivenFor } from './engine/variables/given-for.ts'
import { openSecrets, sealSecrets, type Secrets } from './sealed-secrets.ts'

/** Passwords and tokens of a source, by name. Open only where they are used. */
export type SourceSecrets = Secrets

/** Secrets, and where those that are stored may go. */
export interface SentSecrets {
  secrets: SourceSecrets
  givenFor?: GivenFor | undefined
}

interface Row {
  uid: string
  source_secrets: string | null
}

/** Where `GivenFor` is among the secrets: no field of a body is called so. An earlier version takes it for one more secret, and drops it. */
const meant = '~givenFor'

const purpose = (uid: string) => `data_pipelines.source_secrets:${uid}`

/** Throws `SealProblem` when the key is not in the ring. */
export function openSource({ uid, source_secrets }: Row, ring: KeyRing): SentSecrets {
  const { [meant]: kept, ...secrets } = openSecrets(source_secrets, purpose(uid), ring)
  return { secrets, ...(kept !== undefined && { givenFor: JSON.parse(kept) as GivenFor }) }
}

/** The same, for whoever sends them nowhere. */
export const openSourceSecrets = (row: Row, ring: KeyRing): SourceSecrets => openSource(row, ring).secrets

/** Null for none. */
export function sealSourceSecrets(
  uid: string,
  secrets: SourceSecrets,
  ring: KeyRing,
  givenFor?: GivenFor,
): string | null {
  const kept = givenFor && Object.keys(secrets).length > 0 && { [meant]: JSON.stringify(givenFor) }
  return sealSecrets({ ...secrets, ...kept }, purpose(uid), ring)
}
