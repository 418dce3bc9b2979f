import { problems } from '@sluice/http-server'
import type { GivenSecrets } from '@sluice/connectors/settings/connector-definition'
import type { SecretValues } from '../secrets/sealed-secrets.ts'

interface SecretMerge {
  stored: SecretValues
  sentSecrets: GivenSecrets
  /** JSON pointer of the secret that must be sent again because the address changes; undefined if the address stays. */
  addressChange: string | undefined
}

/**
 * Merges the secrets of a body into the stored ones: an absent secret keeps its stored value. Throws 422 for absent secrets if the address
 * changes, because otherwise a user who may not read the stored password could send it to their own server.
 */
export function mergeSecrets({ stored, sentSecrets, addressChange }: SecretMerge): SecretValues {
  const absent = Object.keys(sentSecrets).filter((name) => sentSecrets[name] === undefined && name in stored)
  if (addressChange && absent.length > 0)
    throw problems.refused(
      addressChange,
      `The stored ${absent.includes('authToken') ? 'token' : 'password'} belongs to the old address. Send it again for the new address, or send an empty text to remove it.`,
    )
  return { ...Object.fromEntries(absent.map((name) => [name, stored[name]!])), ...definedSecrets(sentSecrets) }
}

export const definedSecrets = (sentSecrets: GivenSecrets): SecretValues =>
  Object.fromEntries(
    Object.entries(sentSecrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
