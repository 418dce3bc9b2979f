import { holds, type Role, type Session } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { accessOfUser } from '../../access.ts'
import { clientOf, type ClientRow } from '../clients/records.ts'
import type { Asked } from '../operation.ts'
import { userOf } from '../users/present.ts'
import type { UserRow } from '../users/row.ts'
import { forwardTo } from './forward-to.ts'
import { signedInAs } from './signed-in-as.ts'

/** Who is signed in, for which client, and where they go first. What they can reach is what the active client offers. */
export async function readSession(input: Asked): Promise<Session> {
  const { caller, request } = input
  const { row, around, client, rolesAtIssue, intro } = await signedInAs(input)
  const held = heldRoles(caller, row)
  const activeUser = { ...userOf(row, around, request.locales), ...accessOfUser({ roles: held }, client) }
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
      ...(caller.inPerson && rolesAtIssue && !sameRoles(rolesAtIssue, held) && { preUpdateAuths: rolesAtIssue }),
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

/** What the user holds; of an application or API token, what they gave it of that. Asleep or not: see `effectiveRoles`. */
const heldRoles = ({ inPerson, roles, dormantRoles }: Caller, row: UserRow): Role[] =>
  inPerson ? row.roles : [...roles, ...dormantRoles]

const readsAnalytics = (row: UserRow, held: readonly Role[], client: ClientRow): boolean =>
  row.analytics_platform_enabled && client.pipelines_enabled && holds(held, 'ROLE_VIEW_DATA_ANALYTICS_PLATFORM')

const sameRoles = (a: readonly Role[], b: readonly Role[]): boolean =>
  a.length === b.length && a.every((role) => b.includes(role))
