import { runStatuses } from '@sluice/contracts'
import { type RawBuilder, sql } from 'kysely'
import { type Properties, translateRowProperty } from '@sluice/records'
import { ServiceUnavailable } from '@sluice/client'
import type { IdentityLookups } from '../identity/identity-lookups.ts'

/** The tags of a row as text[], for search conditions. */
export const tagsColumn = sql<string[]>`array(select jsonb_array_elements_text(r.tags))`

/** The properties by which users can search and sort all named objects. */
export const recordedProperties = {
  id: { type: 'uid', column: 'r.uid' },
  name: { type: 'string', column: 'r.name' },
  created: { type: 'date-time', column: 'r.created_at' },
  lastUpdated: { type: 'date-time', column: 'r.updated_at' },
} satisfies Properties

/** Selects a value of a row's last run. Ignores dry runs, as the field `status` does. */
const selectFromLastRun = (value: RawBuilder<unknown>) => sql`(
  select ${value} from runs l where l.runnable_id = r.id and l.action <> 'DRY_RUN' order by l.id desc limit 1)`

export const lastRunStatus = sql<string>`coalesce(${selectFromLastRun(sql`l.state`)}, 'NEVER_RUN')`

/** The search properties of all objects with runs. Their values are those in the field `status`. */
export const lastRunProperties = {
  lastRun: { type: 'date-time', column: selectFromLastRun(sql`coalesce(l.started_at, l.created_at)`) },
  lastRunStatus: { type: 'enum', column: lastRunStatus, values: runStatuses, required: true },
} satisfies Properties

interface RecordedRow {
  uid: string
  client: string
  name: string
  translations: { locale: string; property: string; value: string }[]
  created_at: Date
  updated_at: Date
  description: string | null
  tags: string[]
}

/** Returns the response fields that all named objects with tags share. */
export const presentRecordFields = (row: RecordedRow, locales: readonly string[]) => ({
  ...presentUntaggedFields(row, locales),
  tags: row.tags,
  tagString: row.tags.join(', '),
})

/** Returns the response fields that all named objects share. */
export const presentUntaggedFields = (row: Omit<RecordedRow, 'tags'>, locales: readonly string[]) => ({
  id: row.uid,
  client: row.client,
  name: row.name,
  translations: row.translations,
  created: row.created_at.toISOString(),
  lastUpdated: row.updated_at.toISOString(),
  displayName: translateRowProperty(row, 'name', row.name, locales),
  description: row.description ?? undefined,
  displayDescription: translateRowProperty(row, 'description', row.description, locales),
})

interface AuthoredRow {
  created_by: string | null
  updated_by: string | null
}

/**
 * Returns a function that returns the username for a uid, among the given uids. It returns undefined for deleted users,
 * and for all users while the identity service is unavailable.
 */
export async function lookUpUsernames(uids: Iterable<string | null>, identity: IdentityLookups) {
  const knownUids = [...new Set(uids)].filter((uid) => uid !== null)
  const users =
    knownUids.length > 0 ? await identity.users(knownUids).catch(noUsersIfUnavailable) : new Map<string, never>()
  return (uid: string | null): string | undefined => (uid === null ? undefined : users.get(uid)?.username)
}

/** Returns a function that returns the usernames of the users who created and last updated a row. */
export async function lookUpAuthors(rows: readonly AuthoredRow[], identity: IdentityLookups) {
  const usernameOf = await lookUpUsernames(
    rows.flatMap((row) => [row.created_by, row.updated_by]),
    identity,
  )
  return (row: AuthoredRow) => ({ createdBy: usernameOf(row.created_by), lastUpdatedBy: usernameOf(row.updated_by) })
}

function noUsersIfUnavailable(error: unknown): Map<string, { username: string }> {
  if (error instanceof ServiceUnavailable) return new Map()
  throw error
}
