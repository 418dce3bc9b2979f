import type { SecretStatus } from '@sluice/contracts'
import type { SentSecrets } from '@sluice/connectors/settings/connector-definition'
import { SealProblem } from '@sluice/database'
import type { SecretValues } from './encrypted-secrets.ts'

/** The time (ISO 8601) at which each stored secret was last sent, by the secret's name. Null if unknown. */
export type SecretTimes = Readonly<Record<string, string | null>>

/**
 * Returns the times for the secrets that are about to be stored. Secrets in the request get the current time; the
 * others keep their time. `before` is the stored column, which is null if an older version of Sluice wrote it.
 */
export function mergeSecretTimes(
  secrets: SecretValues,
  sentSecrets: SentSecrets,
  before: SecretTimes | null = null,
): SecretTimes {
  const now = new Date().toISOString()
  const timeOf = (name: string) => {
    const isSent = typeof sentSecrets[name] === 'string'
    return isSent ? now : (before?.[name] ?? null)
  }
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, timeOf(name)]))
}

/**
 * Returns for each name whether a secret is stored. Decrypts only rows of older versions, which have no times. Secrets
 * that cannot be decrypted, because their key is missing, count as not set.
 */
export function presentSecretStatus<Name extends string>(
  names: readonly Name[],
  times: SecretTimes | null,
  unseal: () => SecretValues,
): Record<Name, SecretStatus> {
  const timeBySecret = times ?? findUntimedSecrets(unseal)
  const statuses = names.map((name): [Name, SecretStatus] => {
    const changedAt = timeBySecret[name]
    return [name, { set: Object.hasOwn(timeBySecret, name), ...(changedAt && { changedAt }) }]
  })
  return Object.fromEntries(statuses) as Record<Name, SecretStatus>
}

/** Returns an entry for each secret, with the time null. Returns no entries if the secrets cannot be decrypted. */
function findUntimedSecrets(unseal: () => SecretValues): SecretTimes {
  try {
    return Object.fromEntries(Object.keys(unseal()).map((name) => [name, null]))
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
