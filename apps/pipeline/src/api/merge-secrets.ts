import { problems } from '@sluice/http-server'
import type { SecretValues } from '../secrets/sealed-secrets.ts'

/** The secrets of a body, by name: absent keeps what is stored, null (an empty text on the wire) clears it. */
export type GivenSecrets = Readonly<Record<string, string | null | undefined>>

interface SecretMerge {
  stored: SecretValues
  given: GivenSecrets
  /** The field that would send the stored secrets to another address; undefined if the address stays. */
  moved: string | undefined
}

/**
 * Returns the given secrets, and the stored ones for those that are absent. A user who may change the address may not read the password,
 * but could by sending it to a server of their own: with another address, the password must be sent again.
 */
export function mergeSecrets({ stored, given, moved }: SecretMerge): SecretValues {
  const absent = Object.keys(given).filter((name) => given[name] === undefined && name in stored)
  if (moved && absent.length > 0)
    throw problems.refused(
      moved,
      `The stored ${absent.includes('authToken') ? 'token' : 'password'} is for the old address: send it along, or an empty text for none.`,
    )
  return { ...Object.fromEntries(absent.map((name) => [name, stored[name]!])), ...definedSecrets(given) }
}

export const definedSecrets = (given: GivenSecrets): SecretValues =>
  Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
