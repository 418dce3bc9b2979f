import { problems } from '@sluice/http'
import type { Secrets } from '../sealed-secrets.ts'

/** The secrets of a body, by name: absent keeps what is stored, null (an empty text on the wire) clears it. */
export type GivenSecrets = Readonly<Record<string, string | null | undefined>>

interface SecretMerge {
  stored: Secrets
  given: GivenSecrets
  /** The field that would have the stored secrets sent elsewhere than they were given for; undefined where they stay. */
  moved: string | undefined
}

/**
 * The given secrets, and the stored ones for those that are absent. Who may change where a password goes may not read it,
 * and would by having it sent there: with another address, it has to come along.
 */
export function mergeSecrets({ stored, given, moved }: SecretMerge): Secrets {
  const absent = Object.keys(given).filter((name) => given[name] === undefined && name in stored)
  if (moved && absent.length > 0)
    throw problems.refused(
      moved,
      `The stored ${absent.includes('authToken') ? 'token' : 'password'} is for the old address: send it along, or an empty text for none.`,
    )
  return { ...Object.fromEntries(absent.map((name) => [name, stored[name]!])), ...definedSecrets(given) }
}

export const definedSecrets = (given: GivenSecrets): Secrets =>
  Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
