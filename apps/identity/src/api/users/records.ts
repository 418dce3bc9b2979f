import { type Kysely, type RawBuilder, type Selectable, sql, type SqlBool } from 'kysely'
import {
  hasRole,
  type Role,
  startPages,
  type User,
  type UserBody,
  type UserStatus,
  userStatuses,
} from '@sluice/contracts'
import {
  type ListCondition,
  matchesLineOf,
  type Properties,
  type Property,
  createRecordRepository,
  type RefinedRow,
  type SharedColumns,
  translateRowProperty,
} from '@sluice/records'
import { computeUserAccess } from '../../effective-roles.ts'
import type { DB, Users } from '../../database.ts'
import { toSkeleton, parseUsername } from '../../sign-in/username.ts'
import { presentClient, clientProperties, type ClientRow, readClients, scopeToClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { presentGroup, type UserGroupRow } from '../user-groups/records.ts'

export type UserRow = RefinedRow<
  Selectable<Users>,
  Pick<SharedColumns, 'translations'> & { roles: Role[]; status: UserStatus; start_page: User['startPage'] }
>

/**
 * Finds the group members first and then their user rows. PostgreSQL cannot estimate the size of a group, so it would
 * scan all users of an organisation for a small group, which takes seconds.
 */
const matchMembers = (groups: RawBuilder<SqlBool>) => (condition: RawBuilder<SqlBool>) =>
  sql<SqlBool>`r.id = any(array(
    select members.user_id from user_group_members members join user_groups on user_groups.id = members.user_group_id
    where ${groups} and ${condition}))`

const matchGroups = (matchAny: ReturnType<typeof matchMembers>): Properties => ({
  'userGroups.id': { column: 'user_groups.uid', type: 'uid', toExists: matchAny },
  'userGroups.code': { column: 'user_groups.code', type: 'string', toExists: matchAny },
  'userGroups.name': { column: 'user_groups.name', type: 'string', toExists: matchAny },
})

const clientPropertiesForManagers = Object.entries(clientProperties).map(([name, property]): [string, Property] => [
  name,
  { ...property, onlyFor: ['ROLE_MANAGE_CLIENT'] },
])

/**
 * Returns the search property for the username or application that created or last updated a user. A filter finds the
 * matching authors first and then the users with these authors, because a few administrators create most users.
 */
function matchAuthor(author: 'created_by' | 'updated_by'): Properties[string] {
  const authorUid = sql.ref(`r.${author}`)
  return {
    column: sql`select coalesce(
      (select authors.username from users authors where authors.uid = ${authorUid}),
      (select authors.sso_client_id from sso_client_configs authors where authors.uid = ${authorUid}))`,
    type: 'string',
    // In `toCondition`, `condition` compares these two columns of `authors`, which are users or applications.
    relatedRow: {
      column: 'authors.username',
      within: 'authors.search_text',
      toCondition: (condition) => sql`${authorUid} in (
        select authors.uid from users authors where ${condition}
        union all
        select authors.uid from (
          select uid, sso_client_id as username, lower(sso_client_id) as search_text from sso_client_configs
        ) authors where ${condition})`,
    },
  }
}

/**
 * Matches users with access as `computeUserAccess` defines it: the user has a matching role, and the organisation's
 * switch is on.
 */
const matchAccess = (roles: Role[], column: RawBuilder<SqlBool>): Property => ({
  column: sql`(r.roles && ${[...roles, 'ROLE_SUPER_ADMIN']}::text[] and ${column})`,
  type: 'boolean',
  required: true,
})

/** Selects whether a feature switch of the user's organisation is on. */
const selectFeatureSwitch = (name: 'manager_enabled' | 'routes_enabled' | 'pipelines_enabled') =>
  sql<SqlBool>`(select clients.${sql.ref(name)} from clients where clients.uid = r.client)`

const accessProperties: Properties = {
  hasManagerAccess: matchAccess(['ROLE_SEE_INSTANCE', 'ROLE_MANAGE_INSTANCE'], selectFeatureSwitch('manager_enabled')),
  hasRouteAccess: matchAccess(['ROLE_SEE_ROUTE', 'ROLE_MANAGE_ROUTE'], selectFeatureSwitch('routes_enabled')),
  hasDataPipelineAccess: matchAccess(
    ['ROLE_SEE_DATA_PIPELINE', 'ROLE_MANAGE_DATA_PIPELINE'],
    selectFeatureSwitch('pipelines_enabled'),
  ),
  hasUserAccess: matchAccess(['ROLE_MANAGE_USER'], sql`true`),
  hasClientAccess: matchAccess(['ROLE_MANAGE_CLIENT'], sql`true`),
}

export const userRecords = createRecordRepository<UserRow, User, IdentityRequestContext>({
  noun: 'user',
  table: 'users',
  path: '/users',
  properties: {
    id: { column: 'r.uid', type: 'uid', required: true },
    name: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    displayName: { column: 'r.name', type: 'string', required: true, within: 'r.search_text' },
    username: { column: 'r.username', type: 'string', required: true, within: 'r.search_text' },
    email: { column: 'r.email', type: 'string', required: true, within: 'r.search_text' },
    status: { column: 'r.status', type: 'enum', required: true, values: userStatuses },
    startPage: { column: 'r.start_page', type: 'enum', required: true, values: startPages },
    twoFactorAuth: { column: 'r.two_factor_auth', type: 'boolean', required: true },
    ssoAuth: { column: 'r.sso_auth', type: 'boolean', required: true },
    ssoId: { column: 'r.sso_id', type: 'string' },
    analyticsPlatformEnabled: { column: 'r.analytics_platform_enabled', type: 'boolean', required: true },
    auths: { column: 'r.roles', type: 'strings' },
    fileAccessInstances: { column: 'r.file_access_instances', type: 'strings' },
    ...accessProperties,
    created: { column: 'r.created_at', type: 'date-time', required: true },
    lastUpdated: { column: 'r.updated_at', type: 'date-time', required: true },
    createdBy: matchAuthor('created_by'),
    lastUpdatedBy: matchAuthor('updated_by'),
    ...Object.fromEntries(clientPropertiesForManagers),
    ...matchGroups(matchMembers(sql`true`)),
  },
  /** Limits groups to the caller's organisation, because other organisations have groups of the same names. */
  propertiesOf: ({ roles, client }) =>
    hasRole(roles, 'ROLE_SUPER_ADMIN') ? {} : matchGroups(matchMembers(sql`user_groups.client = ${client}`)),
  /** The column `search_text` contains id, username, e-mail address and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  totalsTable: {
    table: 'user_tallies',
    properties: [
      'client.id',
      'client.code',
      'client.name',
      'status',
      'startPage',
      'ssoAuth',
      'analyticsPlatformEnabled',
    ],
  },
  scope: scopeToClient,
  present: presentUsers,
})

/** Returns a repository of the users that meet a condition. Search filters cannot bypass the condition. */
export const filterUsers = (only: ListCondition) => createRecordRepository({ ...userRecords.definition, only })

/** Returns a repository of the users with access to the analytics platform, or of those without it. */
const filterAnalyticsUsers = (enabled: boolean) =>
  filterUsers({
    name: `analyticsPlatform ${enabled}`,
    query: { analyticsPlatform: String(enabled) },
    condition: sql`r.analytics_platform_enabled = ${enabled}`,
    // The table of precomputed totals also has this column, so it can count these users.
    inTotalsTable: true,
  })
const usersWithAnalytics = filterAnalyticsUsers(true)
const usersWithoutAnalytics = filterAnalyticsUsers(false)

/** Returns the repository of users with or without access to the analytics platform, or of all users if undefined. */
export function chooseUserRecords({ analyticsPlatform }: { analyticsPlatform?: boolean }) {
  if (analyticsPlatform === undefined) return userRecords
  return analyticsPlatform ? usersWithAnalytics : usersWithoutAnalytics
}

export interface UserReferences {
  clients: ReadonlyMap<string, ClientRow>
  groups: ReadonlyMap<number, UserGroupRow[]>
  usernames: ReadonlyMap<string, string>
}

/** Presents users with their organisation, their groups, and the names of the authors who created and changed them. */
async function presentUsers(
  rows: UserRow[],
  { db, request }: { db: Kysely<DB>; request: { locales: readonly string[] } },
): Promise<User[]> {
  if (rows.length === 0) return []
  const references = await readReferences(db, rows)
  return rows.map((row) => presentUser(row, references, request.locales))
}

/** Reads the organisations, groups and author names that the presentation of these users contains. */
async function readReferences(db: Kysely<DB>, rows: readonly UserRow[]): Promise<UserReferences> {
  const authors = new Set(rows.flatMap(({ created_by, updated_by }) => [created_by, updated_by]))
  const authorUids = [...authors].filter((uid) => uid !== null)
  const [clients, groups, usernames] = await Promise.all([
    readClients(db, rows),
    sql<UserGroupRow & { user_id: number }>`
      select members.user_id, user_groups.*
      from user_group_members members join user_groups on user_groups.id = members.user_group_id
      where members.user_id = any(${rows.map(({ id }) => id)}) order by user_groups.id`.execute(db),
    sql<{ uid: string; username: string }>`
      select uid, username from users where uid = any(${authorUids})
      union all
      select uid, sso_client_id from sso_client_configs where uid = any(${authorUids})`.execute(db),
  ])
  return {
    clients,
    groups: Map.groupBy(groups.rows, ({ user_id }) => user_id),
    usernames: new Map(usernames.rows.map(({ uid, username }) => [uid, username])),
  }
}

/** Converts a user to a resource, with the user's organisation, groups and areas of access. */
export function presentUser(row: UserRow, references: UserReferences, locales: readonly string[]): User {
  const { clients, groups, usernames } = references
  const client = clients.get(row.client)!
  const findAuthorName = (uid: string | null) => (uid === null ? undefined : usernames.get(uid))
  return {
    id: row.uid,
    created: row.created_at.toISOString(),
    lastUpdated: row.updated_at.toISOString(),
    createdBy: findAuthorName(row.created_by),
    lastUpdatedBy: findAuthorName(row.updated_by),
    displayName: translateRowProperty(row, 'name', row.name, locales),
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
    client: presentClient(client, locales),
    userGroups: (groups.get(row.id) ?? []).map((group) => presentGroup(group, client, locales)),
    twoFactorAuth: row.two_factor_auth,
    status: row.status,
    ...computeUserAccess(row, client),
  }
}

/**
 * Converts a request body to columns, except password and organisation. Omitted fields become empty, because PUT
 * replaces the user.
 */
export function toUserColumns(body: UserBody) {
  const username = parseUsername(body.username)
  return {
    name: body.name,
    translations: JSON.stringify(body.translations ?? []),
    username,
    username_skeleton: toSkeleton(username),
    email: body.email,
    sso_auth: body.ssoAuth,
    sso_id: body.ssoId || null,
    roles: body.auths ?? [],
    start_page: body.startPage,
    file_access_instances: body.fileAccessInstances ?? [],
    analytics_platform_enabled: body.analyticsPlatformEnabled ?? false,
  }
}

/**
 * Returns the properties of a user for the audit log. Names each column, so that a secret column added later is not
 * included.
 */
export const toUserAudit = (row: UserRow) => ({
  client: row.client,
  name: row.name,
  translations: row.translations,
  username: row.username,
  email: row.email,
  hasPassword: row.password_hash !== null,
  ssoAuth: row.sso_auth,
  ssoId: row.sso_id,
  auths: row.roles,
  status: row.status,
  startPage: row.start_page,
  fileAccessInstances: row.file_access_instances,
  analyticsPlatformEnabled: row.analytics_platform_enabled,
})
