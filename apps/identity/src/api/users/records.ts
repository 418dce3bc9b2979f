import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { holds, startPages, userStatuses, type Role, type User } from '@sluice/contracts'
import { matchesLineOf, records, type ListCondition, type Properties, type Property } from '@sluice/records'
import { clientProperties, ownClientScope } from '../clients/client-scope.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { presentUsers } from './present.ts'
import type { UserRow } from './row.ts'

/**
 * Finds the members first and then their rows. PostgreSQL cannot estimate the size of a group, and a scan of all users of
 * a client for the members of a small group takes seconds.
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

/** Applies the rule of `accessOfUser`: a matching role and the client's switch. */
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

/** Returns the user records that meet a condition. Filters cannot bypass the condition. */
export const usersOnly = (only: ListCondition) => records({ ...userRecords.kind, only })

const analytics = (enabled: boolean) =>
  usersOnly({
    name: `analyticsPlatform ${enabled}`,
    query: { analyticsPlatform: String(enabled) },
    condition: sql`r.analytics_platform_enabled = ${enabled}`,
    tallied: true,
  })
const [enabled, notEnabled] = [analytics(true), analytics(false)]

/** Returns the user records with or without access to the analytics platform; all records if undefined. */
export function usersWhere({ analyticsPlatform }: { analyticsPlatform?: boolean }) {
  if (analyticsPlatform === undefined) return userRecords
  return analyticsPlatform ? enabled : notEnabled
}
