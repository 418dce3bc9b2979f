import type { SourceSecrets } from '@sluice/connectors/connector'
import type { KeyRing, SealedColumn } from '@sluice/database'

/** Unsealed passwords and tokens by name. Unseal secrets only where they are used. */
export type SecretValues = Readonly<Record<string, string>>

/** Unseals secrets. Throws `SealProblem` if their key is not in the ring. */
export const unsealSecrets = (sealed: string | null, purpose: string, ring: KeyRing): SecretValues =>
  sealed === null ? {} : (JSON.parse(ring.open(sealed, purpose)) as SecretValues)

/** Seals secrets. Returns null for an empty object. */
export const sealSecrets = (secrets: SecretValues, purpose: string, ring: KeyRing): string | null =>
  Object.keys(secrets).length === 0 ? null : ring.seal(JSON.stringify(secrets), purpose)

/**
 * The address for which secrets were entered, if it contains variables. `address` has the variables, `was` their values at that time, or
 * null if a variable did not exist. Stored with the secrets as JSON, so that a changed variable cannot send them to another address: the
 * names of these properties must not change.
 */
export interface SecretAddress {
  address: unknown
  was: unknown
}

/** Secrets of a source, and the address to which the stored ones may be sent. */
export interface SentSecrets {
  secrets: SourceSecrets
  givenFor?: SecretAddress | undefined
}

interface SealedPipeline {
  uid: string
  source_secrets: string | null
}

/** The key of the `SecretAddress` among the stored secrets. Fields of requests cannot have this name, and older versions ignore it. */
const addressKey = '~givenFor'

const sourceSecretsPurpose = (uid: string) => `data_pipelines.source_secrets:${uid}`

/** Unseals the secrets of a source. Throws `SealProblem` if their key is not in the ring. */
export function unsealSource({ uid, source_secrets }: SealedPipeline, ring: KeyRing): SentSecrets {
  const { [addressKey]: address, ...secrets } = unsealSecrets(source_secrets, sourceSecretsPurpose(uid), ring)
  return { secrets, ...(address !== undefined && { givenFor: JSON.parse(address) as SecretAddress }) }
}

/** Unseals the secrets without the address to which they may be sent, for callers that do not send them. */
export const unsealSourceSecrets = (row: SealedPipeline, ring: KeyRing): SourceSecrets =>
  unsealSource(row, ring).secrets

/** Seals the secrets of a source with the address for which they were entered. Returns null if there are no secrets. */
export function sealSourceSecrets(
  uid: string,
  secrets: SourceSecrets,
  ring: KeyRing,
  address?: SecretAddress,
): string | null {
  const addressEntry = address && Object.keys(secrets).length > 0 && { [addressKey]: JSON.stringify(address) }
  return sealSecrets({ ...secrets, ...addressEntry }, sourceSecretsPurpose(uid), ring)
}

/** Every column with sealed text, for `bin/reseal-secrets.ts`. A test compares this list with the columns that the code seals. */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'warehouses', key: 'client', column: 'load_password' },
  { table: 'warehouses', key: 'client', column: 'read_password' },
  { table: 'runs', key: 'uid', column: 'sealed_input' },
  { table: 'data_pipelines', key: 'uid', column: 'source_secrets' },
  { table: 'variables', key: 'uid', column: 'sealed_value' },
  { table: 'destinations', key: 'uid', column: 'target_secrets' },
]

/** The sealed columns that the health check reads. They exclude `runs`, a large table with secrets that are deleted when a run ends. */
export const durableSealedColumns = sealedColumns.filter(({ table }) => table !== 'runs')

interface StoredVariable {
  uid: string
  secured: boolean
  value: string | null
  sealed_value: string | null
}

const variablePurpose = (uid: string) => `variables.sealed_value:${uid}`

/** Returns the plain value, unsealed if it is secured. Throws `SealProblem` if its key is not in the ring. */
export const unsealVariableValue = ({ uid, secured, value, sealed_value }: StoredVariable, ring: KeyRing): string =>
  secured ? ring.open(sealed_value!, variablePurpose(uid)) : value!

export const sealVariableValue = (uid: string, value: string, ring: KeyRing): string =>
  ring.seal(value, variablePurpose(uid))
