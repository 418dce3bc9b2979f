import { ServiceUnavailable } from '@sluice/contracts'
import type { IdentityLookups } from '../identity/lookups.ts'

interface Authored {
  created_by: string | null
  updated_by: string | null
}

/**
 * The usernames of these users. A name that cannot be had (the user is gone, or the identity service is down) is left
 * out: a list is still worth reading without it.
 */
export async function usernamesOf(uids: Iterable<string | null>, identity: IdentityLookups) {
  const wanted = [...new Set(uids)].filter((uid) => uid !== null)
  const users = wanted.length > 0 ? await identity.users(wanted).catch(nobodyWhileDown) : new Map<string, never>()
  return (uid: string | null): string | undefined => (uid === null ? undefined : users.get(uid)?.username)
}

/** The usernames of whoever made and last changed these rows. */
export async function authorsOf(rows: readonly Authored[], identity: IdentityLookups) {
  const name = await usernamesOf(
    rows.flatMap((row) => [row.created_by, row.updated_by]),
    identity,
  )
  return (row: Authored) => ({ createdBy: name(row.created_by), lastUpdatedBy: name(row.updated_by) })
}

function nobodyWhileDown(error: unknown): Map<string, { username: string }> {
  if (error instanceof ServiceUnavailable) return new Map()
  throw error
}
