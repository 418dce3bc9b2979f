import type { IdentityLookups } from '../identity/lookups.ts'

interface Authored {
  created_by: string | null
  updated_by: string | null
}

/**
 * The usernames of whoever made and last changed these rows. A name that cannot be had (the user is gone, or the identity
 * service is down) is left out: a list is still worth reading without it.
 */
export async function authorsOf(rows: readonly Authored[], identity: IdentityLookups) {
  const uids = new Set(rows.flatMap((row) => [row.created_by, row.updated_by]).filter((uid) => uid !== null))
  const users =
    uids.size > 0
      ? await identity.users([...uids]).catch(() => new Map<string, { username: string }>())
      : new Map<string, { username: string }>()
  const name = (uid: string | null) => (uid === null ? undefined : users.get(uid)?.username)
  return (row: Authored) => ({ createdBy: name(row.created_by), lastUpdatedBy: name(row.updated_by) })
}
