import { sql } from 'kysely'
import { holds, type Role, type Session } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { accessOfUser } from '../../access.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'
import { presentUsers } from '../users/present.ts'
import type { UserRow } from '../users/row.ts'
import { forwardTo } from './forward-to.ts'

/** Who is signed in, for which client, and where they go first. What they can reach is what the active client offers. */
export async function readSession(input: Asked): Promise<Session> {
  const { caller, request } = input
  const row = await ownRow(input)
  const [[user], { rolesAtIssue, intro, client }] = await Promise.all([
    presentUsers([row], input),
    signInOf(row, input),
  ])
  const held = heldRoles(caller, row)
  const activeUser = { ...user!, ...accessOfUser({ roles: held }, client) }
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
      ...(rolesAtIssue && !sameRoles(rolesAtIssue, held) && { preUpdateAuths: rolesAtIssue }),
      auths: held,
      userGroups: userGroups.map(({ id, client, name, code }) => ({ id, client: client.id, name, code })),
      pipelinesEnabled: client.pipelines_enabled,
      hasIntegrationRouteAccess: hasRouteAccess,
      hasAnalyticsPlatformAccess: readsAnalytics(row, held, client),
      hasManagerAccess,
      hasUserAccess,
      hasClientAccess,
    },
    activeClient: clientOf(client, request.locales),
    client: {
      id: client.uid,
      code: client.code,
      name: client.name,
      disabled: client.disabled,
      domain: client.domain,
      managerEnabled: client.manager_enabled,
      integrationRoutesEnabled: client.routes_enabled,
      // No switch of its own: the analytics platform reads what pipelines load.
      analyticsPlatformEnabled: client.pipelines_enabled,
      enterpriseEnabled: client.enterprise_enabled,
    },
    config: { serviceIntro: row.service_intro && intro },
    forwardTo: forwardTo(activeUser),
  }
}

/** By uid alone: whoever acts for another client is no user of that one. */
async function ownRow({ db, caller }: Asked): Promise<UserRow> {
  const { rows } = await sql<UserRow>`select * from users where uid = ${caller.uid}`.execute(db)
  if (!rows[0]) throw problems.notFound('user')
  return rows[0]
}

type Sign = { roles_at_issue: Role[] | null; intro: boolean }

/** The client that is acted for, and what is known of the sign-in: nothing for an API token, which has none. */
async function signInOf({ id }: UserRow, { db, caller }: Asked) {
  const { rows } = await sql<ClientRow & Sign>`
    select c.*, s.roles_at_issue, not exists (
      select from sessions e where e.user_id = ${id} and (e.ended_at is not null or e.expires_at < now())
    ) as intro
    from clients c left join sessions s on s.uid = ${caller.session || null}
    where c.uid = coalesce(s.client, ${caller.client})`.execute(db)
  const { roles_at_issue, intro, ...client } = rows[0]!
  return { client, intro, rolesAtIssue: caller.inPerson ? roles_at_issue : null }
}

/** What the user holds; of an application or API token, what they gave it of that. Asleep or not: see `effectiveRoles`. */
const heldRoles = ({ inPerson, roles, dormantRoles }: Caller, row: UserRow): Role[] =>
  inPerson ? row.roles : [...roles, ...dormantRoles]

const readsAnalytics = (row: UserRow, held: readonly Role[], client: ClientRow): boolean =>
  row.analytics_platform_enabled && client.pipelines_enabled && holds(held, 'ROLE_VIEW_DATA_ANALYTICS_PLATFORM')

const sameRoles = (a: readonly Role[], b: readonly Role[]): boolean =>
  a.length === b.length && a.every((role) => b.includes(role))
