import { sql } from 'kysely'
import { holds, type Role, type Session } from '@sluice/contracts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'
import { userRecords } from '../users/records.ts'
import { forwardTo } from './forward-to.ts'

/** Who is signed in, for which client, and where they go first. */
export async function readSession(input: Asked): Promise<Session> {
  const { db, caller, request } = input
  const row = await userRecords.read(db, caller, caller.uid)
  const [[user], { rows }] = await Promise.all([
    userRecords.kind.present([row], input),
    sql<ClientRow & { roles_at_issue: Role[]; intro: boolean }>`
      select c.*, s.roles_at_issue, not exists (
        select from sessions e where e.user_id = ${row.id} and (e.ended_at is not null or e.expires_at < now())
      ) as intro
      from sessions s join clients c on c.uid = s.client where s.uid = ${caller.session}`.execute(db),
  ])
  const { roles_at_issue, intro, ...client } = rows[0]!
  const activeUser = user!
  const { id, username, email, name, createdBy, lastUpdatedBy, twoFactorAuth, auths, userGroups } = activeUser
  return {
    activeUser,
    user: {
      id,
      client: client.uid,
      username,
      email,
      name,
      createdBy,
      lastUpdatedBy,
      twoFactorAuth,
      ...(!sameRoles(roles_at_issue, auths) && { preUpdateAuths: roles_at_issue }),
      auths,
      userGroups,
      pipelinesEnabled: client.pipelines_enabled,
      hasIntegrationRouteAccess: activeUser.hasRouteAccess,
      hasAnalyticsPlatformAccess: row.analytics_platform_enabled && holds(auths, 'ROLE_VIEW_DATA_ANALYTICS_PLATFORM'),
      hasManagerAccess: activeUser.hasManagerAccess,
      hasUserAccess: activeUser.hasUserAccess,
      hasClientAccess: activeUser.hasClientAccess,
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

const sameRoles = (a: readonly Role[], b: readonly Role[]): boolean =>
  a.length === b.length && a.every((role) => b.includes(role))
