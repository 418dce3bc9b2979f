import type { SecretStatus } from '@sluice/contracts'
import type { GivenSecrets } from '@sluice/connectors/settings/connector-definition'
import { SealProblem } from '@sluice/database'
import type { SecretValues } from './sealed-secrets.ts'

/** When each stored secret was last sent, in ISO 8601, by name. Null if that is not known. */
export type SecretTimes = Readonly<Record<string, string | null>>

/**
 * Returns the times of `secrets`, which are to be stored: those of a body are sent now, all others keep their time. `before` is the
 * column of the stored row, which is null if an older version wrote it.
 */
export function mergeSecretTimes(
  secrets: SecretValues,
  sentSecrets: GivenSecrets,
  before: SecretTimes | null = null,
): SecretTimes {
  const now = new Date().toISOString()
  return Object.fromEntries(
    Object.keys(secrets).map((name) => [name, typeof sentSecrets[name] === 'string' ? now : (before?.[name] ?? null)]),
  )
}

/**
 * Presents which of the secrets with these names are stored. Only rows of older versions, which have no times, are unsealed. Secrets
 * that cannot be unsealed, because their key is missing, count as not set.
 */
export function presentSecretStatus<Name extends string>(
  names: readonly Name[],
  times: SecretTimes | null,
  unseal: () => SecretValues,
): Record<Name, SecretStatus> {
  const stored = times ?? unsealedNames(unseal)
  const statuses = names.map((name): [Name, SecretStatus] => {
    const changedAt = stored[name]
    return [name, { set: Object.hasOwn(stored, name), ...(changedAt && { changedAt }) }]
  })
  return Object.fromEntries(statuses) as Record<Name, SecretStatus>
}

function unsealedNames(unseal: () => SecretValues): SecretTimes {
  try {
    return Object.fromEntries(Object.keys(unseal()).map((name) => [name, null]))
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
