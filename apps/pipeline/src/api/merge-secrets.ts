import { problems } from '@sluice/http-server'
import type { SentSecrets } from '@sluice/connectors/settings/connector-definition'
import type { SecretValues } from '../secrets/encrypted-secrets.ts'

interface SecretMerge {
  stored: SecretValues
  sentSecrets: SentSecrets
  /**
   * The JSON pointer of the secret to send again because the address changes; undefined if the address stays the same.
   */
  addressChange: string | undefined
}

/**
 * Merges sent secrets into the stored ones: an omitted secret keeps its stored value. Throws 422 for omitted secrets if
 * the address changes. Otherwise a user who may not read the stored password could have it sent to their own server.
 */
export function mergeSecrets({ stored, sentSecrets, addressChange }: SecretMerge): SecretValues {
  const absent = Object.keys(sentSecrets).filter((name) => sentSecrets[name] === undefined && name in stored)
  if (addressChange && absent.length > 0)
    throw problems.refused(
      addressChange,
      `The stored ${absent.includes('authToken') ? 'token' : 'password'} belongs to the old address. Send it again for the new address, or send an empty text to remove it.`,
    )
  return { ...Object.fromEntries(absent.map((name) => [name, stored[name]!])), ...selectSentSecrets(sentSecrets) }
}

export const selectSentSecrets = (sentSecrets: SentSecrets): SecretValues =>
  Object.fromEntries(
    Object.entries(sentSecrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
