import { sql, type Transaction } from 'kysely'
import {
  hasRole,
  identityOperations,
  type Role,
  type CurrentSession,
  type SwitchClientBody,
  type User,
} from '@sluice/contracts'
import { prepared, parseJsonRow } from '@sluice/database'
import { type Caller, problems } from '@sluice/http-server'
import { computeUserAccess } from '../../effective-roles.ts'
import type { DB } from '../../database.ts'
import { presentClient, type ClientRow } from '../clients/records.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import type { UserGroupRow } from '../user-groups/records.ts'
import { presentUser, type UserReferences, type UserRow } from '../users/records.ts'

export const sessionOperations = {
  read: defineIdentityOperation(identityOperations.session.read, (input) => readSession(input)),

  switchClient: defineIdentityOperation(identityOperations.session.switchClient, async (input) => {
    await switchClient(input.body, input)
    return readSession(input)
  }),
}

/**
 * Lets a super admin act for another organisation in this session. Existing tokens stay valid and follow the switch,
 * because every request reads the organisation from the session.
 */
async function switchClient(
  { clientId }: SwitchClientBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<void> {
  const client = clientId.toLowerCase()
  await write(async (trx) => {
    await assertTargetClientEnabled(trx, client)
    await assertSuperAdmin(trx, caller.uid)
    const { rows } = await sql<{ before: string }>`
      update sessions set client = ${client} where uid = ${caller.session} and ended_at is null
      returning old.client as before`.execute(trx)
    if (!rows[0]) throw problems.unauthenticated('The session has ended. Sign in again.')
    request.audit(caller.session, { before: { client: rows[0].before }, after: { client } })
  })
}

/**
 * Throws 422 if the organisation does not exist or is disabled. Locks its row: a concurrent request that disables the
 * organisation waits for this transaction and then also ends this session.
 */
async function assertTargetClientEnabled(trx: Transaction<DB>, client: string): Promise<void> {
  const { rows } = await sql<{ disabled: boolean }>`
    select disabled from clients where uid = ${client} for share`.execute(trx)
  if (!rows[0]) throw problems.refused('/clientId', 'The organisation does not exist. Check its id.')
  if (rows[0].disabled) throw problems.refused('/clientId', 'This organisation is disabled. Enable it first.')
}

/**
 * Throws 403 unless the user is a super admin. Locks the user's row: a concurrent removal of the role waits for this
 * transaction and then also ends this session.
 */
async function assertSuperAdmin(trx: Transaction<DB>, user: string): Promise<void> {
  const { rows } = await sql`
    select from users where uid = ${user} and 'ROLE_SUPER_ADMIN' = any (roles) for share`.execute(trx)
  if (rows.length === 0) throw problems.forbidden('Only users with ROLE_SUPER_ADMIN can act for another organisation.')
}

/**
 * Returns the signed-in user, the active organisation and the start page. The active organisation determines what the
 * user can access.
 */
async function readSession(input: IdentityRequestContext): Promise<CurrentSession> {
  const { caller, request } = input
  const { row, references, client, rolesAtIssue, intro } = await readSessionFacts(input)
  const heldRoles = listHeldRoles(caller, row)
  const activeUser = {
    ...presentUser(row, references, request.locales),
    ...computeUserAccess({ roles: heldRoles }, client),
  }
  const { id, username, email, name, createdBy, lastUpdatedBy, twoFactorAuth, userGroups } = activeUser
  const { hasManagerAccess, hasRouteAccess, hasUserAccess, hasClientAccess } = activeUser
  return {
    activeUser,
    user: {
      id,
      client: row.client,
      username,
      email,
      name,
      createdBy,
      lastUpdatedBy,
      twoFactorAuth,
      ...(caller.inPerson &&
        rolesAtIssue &&
        !haveSameRoles(rolesAtIssue, heldRoles) && { preUpdateAuths: rolesAtIssue }),
      auths: heldRoles,
      userGroups: userGroups.map(({ id, client, name, code }) => ({ id, client: client.id, name, code })),
      pipelinesEnabled: client.pipelines_enabled,
      hasIntegrationRouteAccess: hasRouteAccess,
      hasAnalyticsPlatformAccess: canReadAnalytics(row, heldRoles, client),
      hasManagerAccess,
      hasUserAccess,
      hasClientAccess,
    },
    activeClient: presentClient(client, request.locales),
    client: {
      id: client.uid,
      code: client.code,
      name: client.name,
      disabled: client.disabled,
      domain: client.domain,
      managerEnabled: client.manager_enabled,
      integrationRoutesEnabled: client.routes_enabled,
      // Access to the analytics platform depends on the switch for pipelines, because it shows data that pipelines
      // load.
      analyticsPlatformEnabled: client.pipelines_enabled,
      enterpriseEnabled: client.enterprise_enabled,
    },
    config: { serviceIntro: row.service_intro && intro },
    forwardTo: findStartPage(activeUser),
  }
}

/**
 * Returns the user's enabled and dormant roles (see `splitEnabledAndDormantRoles`), or those granted to the application
 * or API token.
 */
const listHeldRoles = ({ inPerson, roles, dormantRoles }: Caller, row: UserRow): Role[] =>
  inPerson ? row.roles : [...roles, ...dormantRoles]

const canReadAnalytics = (row: UserRow, heldRoles: readonly Role[], client: ClientRow): boolean =>
  row.analytics_platform_enabled && client.pipelines_enabled && hasRole(heldRoles, 'ROLE_VIEW_DATA_ANALYTICS_PLATFORM')

const haveSameRoles = (a: readonly Role[], b: readonly Role[]): boolean =>
  a.length === b.length && a.every((role) => b.includes(role))

type StartPageTarget = NonNullable<CurrentSession['forwardTo']>

/** The start pages by precedence. A user who cannot open the preferred page gets the first accessible one. */
const startPages: { startPage: User['startPage']; target: StartPageTarget; hasAccess(user: User): boolean }[] = [
  { startPage: 'MANAGER', target: 'SERVICE_MANAGER', hasAccess: (user) => user.hasManagerAccess },
  { startPage: 'INTEGRATION', target: 'SERVICE_INTEGRATION', hasAccess: (user) => user.hasRouteAccess },
  { startPage: 'DATA_PIPELINE', target: 'SERVICE_DATA_PIPELINE', hasAccess: (user) => user.hasDataPipelineAccess },
]

/** Returns the start page after a sign-in; undefined if the user has no access. */
function findStartPage(user: User): StartPageTarget | undefined {
  const accessible = startPages.filter(({ hasAccess }) => hasAccess(user))
  return (accessible.find(({ startPage }) => startPage === user.startPage) ?? accessible[0])?.target
}

interface SessionFacts {
  row: UserRow
  /** The organisations, groups and usernames that the response mentions. */
  references: UserReferences
  /** The organisation for which the session acts. */
  client: ClientRow
  /** The user's roles at the sign-in. Null for an API token, which has no sign-in. */
  rolesAtIssue: Role[] | null
  /** Whether the front end shows the introduction: true until a session of the user has ended. */
  intro: boolean
}

interface SessionRows {
  user: unknown
  home_client: unknown
  active_client: unknown
  groups: unknown[]
  usernames: Record<string, string> | null
  roles_at_issue: Role[] | null
  intro: boolean
}

/**
 * Reads the rows for `readSession` in one statement, because front ends request the session with every page: the user,
 * their own organisation (`home_client`), the organisation for which the session acts (`active_client`), and so on.
 * These two differ if a super admin acts for another organisation. API tokens and applications cannot do that: they act
 * for `caller.client`.
 */
async function readSessionFacts({ db, caller }: IdentityRequestContext): Promise<SessionFacts> {
  const { rows } = await sql<SessionRows>`
    ${prepared('signed-in-as')}
    select row_to_json(users) as "user", row_to_json(home_client) as home_client,
      row_to_json(active_client) as active_client, sessions.roles_at_issue,
      array(
        select row_to_json(user_groups)
        from user_group_members members join user_groups on user_groups.id = members.user_group_id
        where members.user_id = users.id order by user_groups.id
      ) as groups,
      (
        select json_object_agg(authors.uid, authors.username)
        from users authors where authors.uid in (users.created_by, users.updated_by)
      ) as usernames,
      not exists (
        select from sessions past
        where past.user_id = users.id and (past.ended_at is not null or past.expires_at < now())
      ) as intro
    from users
    join clients home_client on home_client.uid = users.client
    left join sessions on sessions.uid = ${caller.session || null}
    join clients active_client
      on active_client.uid = coalesce(case when ${caller.inPerson}::boolean then sessions.client end, ${caller.client})
    where users.uid = ${caller.uid}`.execute(db)
  const [sessionRows] = rows
  if (!sessionRows) throw problems.notFound('user')
  const row = parseJsonRow<UserRow>(sessionRows.user)
  const homeClient = parseJsonRow<ClientRow>(sessionRows.home_client)
  const groups = sessionRows.groups.map((group) => parseJsonRow<UserGroupRow>(group))
  const references = {
    clients: new Map([[homeClient.uid, homeClient]]),
    groups: new Map([[row.id, groups]]),
    usernames: new Map(Object.entries(sessionRows.usernames ?? {})),
  }
  return {
    row,
    references,
    client: parseJsonRow<ClientRow>(sessionRows.active_client),
    rolesAtIssue: sessionRows.roles_at_issue,
    intro: sessionRows.intro,
  }
}
