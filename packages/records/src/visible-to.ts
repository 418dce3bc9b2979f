import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { holds } from '@sluice/contracts'
import type { Caller } from '@sluice/http'

export type Level = 'READ' | 'READ_WRITE'

const covers: Record<Level, Level[]> = { READ: ['READ', 'READ_WRITE'], READ_WRITE: ['READ_WRITE'] }

/**
 * Which shared records a caller may see or change: those of their client that are theirs, public, or shared with them or
 * one of their groups. A super admin reaches every record of the client, so that nothing is orphaned with its owner.
 * The one expression behind list, read, write and share; the record's table goes by the alias `r`.
 */
export function visibleTo(caller: Caller, level: Level): RawBuilder<SqlBool> {
  const ofClient = sql<SqlBool>`r.client = ${caller.client}`
  if (holds(caller.roles, 'ROLE_SUPER_ADMIN')) return ofClient
  return sql<SqlBool>`(${ofClient} and (
    r.created_by = ${caller.uid}
    or r.public_access = any(${covers[level]})
    or ${granted('user_access', [caller.uid], level)}
    or ${granted('user_group_access', caller.userGroups, level)}))`
}

const granted = (
  column: 'user_access' | 'user_group_access',
  ids: readonly string[],
  level: Level,
) => sql<SqlBool>`exists (
  select from jsonb_to_recordset(${sql.ref(`r.${column}`)}) as g(id text, access text)
  where g.id = any(${ids}) and g.access = any(${covers[level]}))`
