import { holds, type Role } from '@sluice/contracts'

interface RoleHolder {
  roles: readonly Role[]
}

interface ClientSwitches {
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
}

/** The switch of a client that decides whether a role counts there. The roles that are in none of these always do. */
const switchedBy: readonly [keyof ClientSwitches, pattern: RegExp][] = [
  ['manager_enabled', /^ROLE_(SEE|MANAGE)_INSTANCE$/],
  ['routes_enabled', /^ROLE_(SEE|MANAGE)_ROUTE$/],
  [
    'pipelines_enabled',
    /_(DATA_PIPELINE|VIEW|SCHEMA|DESTINATION|WORKFLOW|VARIABLE|SETTING|DATA_QUALITY_CHECK|DATA_QUALITY_CHECK_GROUP|DATA_PIPELINE_CONFIG|PUBLIC_DATASET_CATALOG|DATA_ANALYTICS_PLATFORM)$/,
  ],
]

/** The switch that a role hangs from. Undefined: it counts in every client. */
export const switchOf = (role: Role): keyof ClientSwitches | undefined =>
  switchedBy.find(([, pattern]) => pattern.test(role))?.[0]

/**
 * What somebody's roles come to in a client: those that count there, and those that its switches put to sleep. The
 * sleeping ones open nothing, but who holds them may still look after others who do: see docs/decisions/0019.
 */
export function effectiveRoles(
  roles: readonly Role[],
  client: ClientSwitches,
): { roles: Role[]; dormantRoles: Role[] } {
  const isOn = (role: Role) => {
    const name = switchOf(role)
    return name === undefined || client[name]
  }
  return { roles: roles.filter(isOn), dormantRoles: roles.filter((role) => !isOn(role)) }
}

/** Returns what a user can access: the client's switch and a matching role. */
export function accessOfUser({ roles }: RoleHolder, client: ClientSwitches) {
  return {
    hasManagerAccess: client.manager_enabled && holds(roles, 'ROLE_SEE_INSTANCE'),
    hasRouteAccess: client.routes_enabled && holds(roles, 'ROLE_SEE_ROUTE'),
    hasDataPipelineAccess: client.pipelines_enabled && holds(roles, 'ROLE_SEE_DATA_PIPELINE'),
    hasUserAccess: holds(roles, 'ROLE_MANAGE_USER'),
    hasClientAccess: holds(roles, 'ROLE_MANAGE_CLIENT'),
  }
}
