import { sql, type Kysely } from 'kysely'
import { hasRole, toSearchRequest, type User, type UserListQuery, type TabularResult } from '@sluice/contracts'
import {
  buildTabularResult,
  createRecordRepository,
  type Properties,
  type ReportColumn,
  type ReportPager,
} from '@sluice/records'
import { splitEnabledAndDormantRoles } from '../../effective-roles.ts'
import type { DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { userRecords, chooseUserRecords } from '../users/records.ts'
import { readScopeName } from './report-subtitle.ts'

interface UserAccessColumns {
  lastSignIn: Date | null
  apiTokens: number
}
type UserAccessRow = User & Partial<UserAccessColumns>

/** Maintenance deletes ended sessions, so the user's column keeps the time of the last sign-in. */
const lastSignIn = sql`greatest(
  r.last_signed_in_at, (select max(sessions.created_at) from sessions where sessions.user_id = r.id))`

const joinValues = (values: readonly string[]) => values.join(', ')
const toClientSwitches = ({ client }: User) => ({
  manager_enabled: client.managerEnabled,
  routes_enabled: client.routesEnabled,
  pipelines_enabled: client.pipelinesEnabled,
})

const reportColumns: ReportColumn<UserAccessRow>[] = [
  { name: 'User id', column: 'id', valueType: 'VARCHAR_50', id: true, cell: ({ id }) => id },
  { name: 'Client id', column: 'client.id', valueType: 'VARCHAR_50', id: true, cell: ({ client }) => client.id },
  { name: 'Client', column: 'client.code', valueType: 'VARCHAR_50', cell: ({ client }) => client.code },
  { name: 'Username', column: 'username', valueType: 'VARCHAR_255', cell: ({ username }) => username },
  { name: 'Name', column: 'displayName', valueType: 'VARCHAR_255', cell: ({ displayName }) => displayName },
  { name: 'E-mail', column: 'email', valueType: 'VARCHAR_255', cell: ({ email }) => email },
  { name: 'Status', column: 'status', valueType: 'VARCHAR_50', cell: ({ status }) => status },
  {
    name: 'Last sign-in',
    column: 'lastSignIn',
    valueType: 'TIMESTAMPTZ',
    cell: (row) => row.lastSignIn?.toISOString(),
  },
  { name: 'Second factor', column: 'twoFactorAuth', valueType: 'BOOLEAN', cell: ({ twoFactorAuth }) => twoFactorAuth },
  { name: 'Single sign-on', column: 'ssoAuth', valueType: 'BOOLEAN', cell: ({ ssoAuth }) => ssoAuth },
  { name: 'Single sign-on id', column: 'ssoId', valueType: 'VARCHAR_255', cell: ({ ssoId }) => ssoId },
  { name: 'API tokens', column: 'apiTokens', valueType: 'SMALLINT', cell: ({ apiTokens }) => apiTokens },
  { name: 'Roles', column: 'auths', valueType: 'TEXT', cell: ({ auths }) => joinValues(auths) },
  {
    name: 'Roles switched off',
    column: 'dormantAuths',
    valueType: 'TEXT',
    cell: (user) => joinValues(splitEnabledAndDormantRoles(user.auths, toClientSwitches(user)).dormantRoles),
  },
  {
    name: 'User groups',
    column: 'userGroups.code',
    valueType: 'TEXT',
    cell: ({ userGroups }) => joinValues(userGroups.map(({ code }) => code)),
  },
  {
    name: 'File access instances',
    column: 'fileAccessInstances',
    valueType: 'TEXT',
    cell: ({ fileAccessInstances = [] }) => joinValues(fileAccessInstances),
  },
  { name: 'Manager', column: 'hasManagerAccess', valueType: 'BOOLEAN', cell: (user) => user.hasManagerAccess },
  { name: 'Routes', column: 'hasRouteAccess', valueType: 'BOOLEAN', cell: (user) => user.hasRouteAccess },
  {
    name: 'Data pipelines',
    column: 'hasDataPipelineAccess',
    valueType: 'BOOLEAN',
    cell: (user) => user.hasDataPipelineAccess,
  },
  {
    name: 'Analytics platform',
    column: 'hasAnalyticsPlatformAccess',
    valueType: 'BOOLEAN',
    cell: ({ analyticsPlatformEnabled = false, auths, client }) =>
      analyticsPlatformEnabled && client.pipelinesEnabled && hasRole(auths, 'ROLE_VIEW_DATA_ANALYTICS_PLATFORM'),
  },
  { name: 'Users', column: 'hasUserAccess', valueType: 'BOOLEAN', cell: (user) => user.hasUserAccess },
  { name: 'Clients', column: 'hasClientAccess', valueType: 'BOOLEAN', cell: (user) => user.hasClientAccess },
]

/** The searchable properties of the report: those of users, and the last sign-in. */
export const userAccessProperties: Properties = {
  ...userRecords.definition.properties,
  lastSignIn: { column: lastSignIn, type: 'date-time' },
}

/** Returns a repository of the same users that can also be filtered by the additional properties of the report. */
const createReportRecords = ({ definition }: typeof userRecords) =>
  createRecordRepository({ ...definition, properties: userAccessProperties })

// The repositories are created once, because they cache counted totals.
const recordsOfAllUsers = createReportRecords(userRecords)
const recordsWithAnalytics = createReportRecords(chooseUserRecords({ analyticsPlatform: true }))
const recordsWithoutAnalytics = createReportRecords(chooseUserRecords({ analyticsPlatform: false }))
/**
 * Returns the repository of the report: users with or without access to the analytics platform, or all users if
 * undefined.
 */
function chooseReportRecords(analyticsPlatform?: boolean) {
  if (analyticsPlatform === undefined) return recordsOfAllUsers
  return analyticsPlatform ? recordsWithAnalytics : recordsWithoutAnalytics
}

/** Returns users and their access. Supports the filters and pages of the user list, and the property `lastSignIn`. */
export async function readUserAccessReport(
  { analyticsPlatform, ...query }: UserListQuery,
  input: IdentityRequestContext,
): Promise<TabularResult> {
  const reportRecords = chooseReportRecords(analyticsPlatform)
  const { body: users, headers } = await reportRecords.search(input.db, input, toSearchRequest(query))
  const userIds = users.map(({ id }) => id)
  const accessByUser = await readLastSignInsAndTokens(input.db, userIds)
  return buildTabularResult<UserAccessRow>(
    users.map((user) => ({ ...user, ...accessByUser.get(user.id) })),
    {
      table: 'user-access',
      title: 'User access',
      subtitle: await readScopeName(input),
      columns: reportColumns,
      pager: parsePagerHeaders(headers),
    },
  )
}

/** Returns the report's columns that the user list lacks, by the uid of the user. */
async function readLastSignInsAndTokens(
  db: Kysely<DB>,
  uids: readonly string[],
): Promise<ReadonlyMap<string, UserAccessColumns>> {
  const { rows } = await sql<UserAccessColumns & { uid: string }>`
    select r.uid, ${lastSignIn} as "lastSignIn",
      (select count(*) from api_tokens where api_tokens.user_id = r.id and api_tokens.expires_at > now()) as "apiTokens"
    from users r where r.uid = any(${uids})`.execute(db)
  return new Map(rows.map(({ uid, ...columns }) => [uid, columns]))
}

function parsePagerHeaders(headers: Record<string, string>): ReportPager {
  const total = headers['X-Total-Count']
  return {
    page: Number(headers['X-Page']),
    pageSize: Number(headers['X-Page-Size']),
    ...(total !== undefined && { total: Number(total) }),
  }
}
