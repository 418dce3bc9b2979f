import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { holds, startPages, userStatuses, type Role, type User } from '@sluice/contracts'
import { matchesLineOf, records, type ListCondition, type Properties, type Property } from '@sluice/records'
import { clientProperties, ownClientScope } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { presentUsers } from './present.ts'
import type { UserRow } from './row.ts'

/**
 * The members are found first, and then their rows: how many a group has cannot be estimated, and a walk through all users of
 * a client to find those of a small group takes seconds.
 */
const inGroups = (groups: RawBuilder<SqlBool>) => (condition: RawBuilder<SqlBool>) =>
  sql<SqlBool>`r.id = any(array(
  select m.user_id from user_group_members m join user_groups g on g.id = m.user_group_id where ${groups} and ${condition}))`

const groupProperties = (some: ReturnType<typeof inGroups>): Properties => ({
  'userGroups.id': { column: 'g.uid', type: 'uid', some },
  'userGroups.code': { column: 'g.code', type: 'string', some },
  'userGroups.name': { column: 'g.name', type: 'string', some },
})

const forClientManagers = Object.entries(clientProperties).map(([name, property]): [string, Property] => [
  name,
  { ...property, onlyFor: ['ROLE_MANAGE_CLIENT'] },
])

/** Searches the authors (users or applications) first, because a few administrators create most users. */
const nameOf = (author: 'created_by' | 'updated_by'): Properties[string] => ({
  column: sql`select coalesce(
    (select a.username from users a where a.uid = ${sql.ref(`r.${author}`)}),
    (select a.sso_client_id from sso_client_configs a where a.uid = ${sql.ref(`r.${author}`)}))`,
  type: 'string',
  found: {
    column: 'a.username',
    within: 'a.search_text',
    where: (condition) => sql`${sql.ref(`r.${author}`)} in (
      select a.uid from users a where ${condition}
      union all
      select a.uid from (
        select uid, sso_client_id as username, lower(sso_client_id) as search_text from sso_client_configs
      ) a where ${condition})`,
  },
})

/** As `accessOfUser` has them: a role, and the switch of the client that it needs. */
const accessProperty = (roles: Role[], column: RawBuilder<SqlBool>): Property => ({
  column: sql`(r.roles && ${[...roles, 'ROLE_SUPER_ADMIN']}::text[] and ${column})`,
  type: 'boolean',
  required: true,
})
const switchedOn = (name: 'manager_enabled' | 'routes_enabled' | 'pipelines_enabled') =>
  sql<SqlBool>`(select c.${sql.ref(name)} from clients c where c.uid = r.client)`
const accessProperties: Properties = {
  hasManagerAccess: accessProperty(['ROLE_SEE_INSTANCE', 'ROLE_MANAGE_INSTANCE'], switchedOn('manager_enabled')),
  hasRouteAccess: accessProperty(['ROLE_SEE_ROUTE', 'ROLE_MANAGE_ROUTE'], switchedOn('routes_enabled')),
  hasDataPipelineAccess: accessProperty(
    ['ROLE_SEE_DATA_PIPELINE', 'ROLE_MANAGE_DATA_PIPELINE'],
    switchedOn('pipelines_enabled'),
  ),
  hasUserAccess: accessProperty(['ROLE_MANAGE_USER'], sql`true`),
  hasClientAccess: accessProperty(['ROLE_MANAGE_CLIENT'], sql`true`),
}

export const userRecords = records<UserRow, User, IdentityRequestContext>({
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
    createdBy: nameOf('created_by'),
    lastUpdatedBy: nameOf('updated_by'),
    ...Object.fromEntries(forClientManagers),
    ...groupProperties(inGroups(sql`true`)),
  },
  /** Other clients have groups of the same names. */
  propertiesOf: ({ roles, client }) =>
    holds(roles, 'ROLE_SUPER_ADMIN') ? {} : groupProperties(inGroups(sql`g.client = ${client}`)),
  /** Id, username, e-mail address and name. */
  matches: (like) => matchesLineOf('r.search_text', like),
  tally: {
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
  scope: ownClientScope,
  present: presentUsers,
})

/** The same users as far as they also meet a condition, which no filter reaches around. */
export const usersOnly = (only: ListCondition) => records({ ...userRecords.kind, only })

const analytics = (enabled: boolean) =>
  usersOnly({
    name: `analyticsPlatform ${enabled}`,
    query: { analyticsPlatform: String(enabled) },
    condition: sql`r.analytics_platform_enabled = ${enabled}`,
    tallied: true,
  })
const [enabled, notEnabled] = [analytics(true), analytics(false)]

/** The same users as far as they are enabled for the analytics platform, or are not. Undefined: all. */
export function usersWhere({ analyticsPlatform }: { analyticsPlatform?: boolean }) {
  if (analyticsPlatform === undefined) return userRecords
  return analyticsPlatform ? enabled : notEnabled
}
