import { sql, type Kysely } from 'kysely'
import type { User } from '@sluice/contracts'
import { translatedProperty } from '@sluice/records'
import { accessOfUser } from '../../access.ts'
import type { DB } from '../../database.ts'
import { clientRowsOf } from '../clients/client-scope.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import { userGroupOf } from '../user-groups/present.ts'
import type { UserGroupRow } from '../user-groups/row.ts'
import type { UserRow } from './row.ts'

export interface UserReferences {
  clients: ReadonlyMap<string, ClientRow>
  groups: ReadonlyMap<number, UserGroupRow[]>
  usernames: ReadonlyMap<string, string>
}

/** Presents users with their client, their groups, and the names of the authors who created and changed them. */
export async function presentUsers(
  rows: UserRow[],
  { db, request }: { db: Kysely<DB>; request: { locales: readonly string[] } },
): Promise<User[]> {
  if (rows.length === 0) return []
  const around = await surroundingsOf(db, rows)
  return rows.map((row) => userOf(row, around, request.locales))
}

async function surroundingsOf(db: Kysely<DB>, rows: readonly UserRow[]): Promise<UserReferences> {
  const authors = rows.flatMap(({ created_by, updated_by }) => [created_by, updated_by]).filter((uid) => uid !== null)
  const [clients, groups, usernames] = await Promise.all([
    clientRowsOf(db, rows),
    sql<UserGroupRow & { user_id: number }>`
      select m.user_id, g.*
      from user_group_members m join user_groups g on g.id = m.user_group_id
      where m.user_id = any(${rows.map(({ id }) => id)}) order by g.id`.execute(db),
    sql<{ uid: string; username: string }>`
      select uid, username from users where uid = any(${[...new Set(authors)]})
      union all
      select uid, sso_client_id from sso_client_configs where uid = any(${[...new Set(authors)]})`.execute(db),
  ])
  return {
    clients,
    groups: Map.groupBy(groups.rows, ({ user_id }) => user_id),
    usernames: new Map(usernames.rows.map(({ uid, username }) => [uid, username])),
  }
}

export function userOf(row: UserRow, { clients, groups, usernames }: UserReferences, locales: readonly string[]): User {
  const client = clients.get(row.client)!
  const nameOf = (uid: string | null) => (uid === null ? undefined : usernames.get(uid))
  return {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
    createdBy: nameOf(row.created_by),
    lastUpdatedBy: nameOf(row.updated_by),
    displayName: translatedProperty(row, 'name', row.name, locales),
    name: row.name,
    translations: row.translations,
    username: row.username,
    email: row.email,
    ssoAuth: row.sso_auth,
    ssoId: row.sso_id ?? undefined,
    auths: row.roles,
    fileAccessInstances: row.file_access_instances,
    startPage: row.start_page,
    analyticsPlatformEnabled: row.analytics_platform_enabled,
    client: clientOf(client, locales),
    userGroups: (groups.get(row.id) ?? []).map((group) => userGroupOf(group, client, locales)),
    twoFactorAuth: row.two_factor_auth,
    status: row.status,
    ...accessOfUser(row, client),
  }
}
