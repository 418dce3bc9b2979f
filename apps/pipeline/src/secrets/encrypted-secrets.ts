import type { SourceSecrets } from '@sluice/connectors/connector'
import type { KeyRing, SealedColumn } from '@sluice/database'

/** Decrypted passwords and tokens by name. Decrypt secrets only where they are used. */
export type SecretValues = Readonly<Record<string, string>>

/** Decrypts secrets. Throws `SealProblem` if their encryption key is not configured. */
export const unsealSecrets = (sealed: string | null, purpose: string, ring: KeyRing): SecretValues =>
  sealed === null ? {} : (JSON.parse(ring.open(sealed, purpose)) as SecretValues)

/** Encrypts secrets. Returns null for an empty object. */
export const sealSecrets = (secrets: SecretValues, purpose: string, ring: KeyRing): string | null =>
  Object.keys(secrets).length === 0 ? null : ring.seal(JSON.stringify(secrets), purpose)

/**
 * The address for which secrets were entered, if it contains variables. `address` contains the variables; `was`
 * contains their values at that time, or is null if a variable did not exist. It is stored together with the secrets.
 * Before secrets are sent, it is compared with the current address, so that a changed variable cannot send them
 * elsewhere. Stored as JSON, so the names of the properties must not change.
 */
export interface SecretAddress {
  address: unknown
  was: unknown
}

/** The secrets of a source, and the address to which they may be sent. */
export interface SecretsWithAddress {
  secrets: SourceSecrets
  secretAddress?: SecretAddress | undefined
}

interface SealedPipeline {
  uid: string
  source_secrets: string | null
}

/**
 * The name under which the `SecretAddress` is stored among the secrets. No field of a request can have this name, and
 * older versions of Sluice ignore it.
 */
const addressKey = '~givenFor'

const sourceSecretsPurpose = (uid: string) => `data_pipelines.source_secrets:${uid}`

/** Decrypts the secrets of a source. Throws `SealProblem` if their encryption key is not configured. */
export function unsealSource({ uid, source_secrets }: SealedPipeline, ring: KeyRing): SecretsWithAddress {
  const { [addressKey]: address, ...secrets } = unsealSecrets(source_secrets, sourceSecretsPurpose(uid), ring)
  return { secrets, ...(address !== undefined && { secretAddress: JSON.parse(address) as SecretAddress }) }
}

/** Decrypts the secrets of a source without their address, for callers that do not send the secrets. */
export const unsealSourceSecrets = (row: SealedPipeline, ring: KeyRing): SourceSecrets =>
  unsealSource(row, ring).secrets

/**
 * Encrypts the secrets of a source together with the address for which they were entered. Returns null without secrets.
 */
export function sealSourceSecrets(
  uid: string,
  secrets: SourceSecrets,
  ring: KeyRing,
  address?: SecretAddress,
): string | null {
  const addressEntry = address && Object.keys(secrets).length > 0 && { [addressKey]: JSON.stringify(address) }
  return sealSecrets({ ...secrets, ...addressEntry }, sourceSecretsPurpose(uid), ring)
}

/**
 * All encrypted columns, which `bin/reseal-secrets.ts` encrypts with a new key. A test checks that the list is
 * complete.
 */
export const sealedColumns: readonly SealedColumn[] = [
  { table: 'warehouses', key: 'client', column: 'load_password' },
  { table: 'warehouses', key: 'client', column: 'read_password' },
  { table: 'runs', key: 'uid', column: 'sealed_input' },
  { table: 'data_pipelines', key: 'uid', column: 'source_secrets' },
  { table: 'variables', key: 'uid', column: 'sealed_value' },
  { table: 'destinations', key: 'uid', column: 'target_secrets' },
]

/**
 * The encrypted columns that the health check reads. Excludes `runs`, a large table with secrets that are deleted when
 * a run ends.
 */
export const durableSealedColumns = sealedColumns.filter(({ table }) => table !== 'runs')

interface StoredVariable {
  uid: string
  secured: boolean
  value: string | null
  sealed_value: string | null
}

const variablePurpose = (uid: string) => `variables.sealed_value:${uid}`

/**
 * Returns the value of a variable, decrypted if it is secured. Throws `SealProblem` if its encryption key is not
 * configured.
 */
export const unsealVariableValue = ({ uid, secured, value, sealed_value }: StoredVariable, ring: KeyRing): string =>
  secured ? ring.open(sealed_value!, variablePurpose(uid)) : value!

export const sealVariableValue = (uid: string, value: string, ring: KeyRing): string =>
  ring.seal(value, variablePurpose(uid))
