import { hasRole, type Role } from '@sluice/contracts'

interface RoleHolder {
  roles: readonly Role[]
}

interface ClientSwitches {
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
}

/**
 * Maps each feature switch of an organisation to the roles that it enables for the organisation's users. All other
 * roles are always enabled.
 */
const switchedBy: readonly [keyof ClientSwitches, pattern: RegExp][] = [
  ['manager_enabled', /^ROLE_(SEE|MANAGE)_INSTANCE$/],
  ['routes_enabled', /^ROLE_(SEE|MANAGE)_ROUTE$/],
  [
    'pipelines_enabled',
    /_(DATA_PIPELINE|VIEW|SCHEMA|DESTINATION|WORKFLOW|VARIABLE|SETTING|DATA_QUALITY_CHECK|DATA_QUALITY_CHECK_GROUP|DATA_PIPELINE_CONFIG|PUBLIC_DATASET_CATALOG|DATA_ANALYTICS_PLATFORM)$/,
  ],
]

/** Returns the switch that enables a role; undefined if the role is enabled in every organisation. */
export const findClientSwitch = (role: Role): keyof ClientSwitches | undefined =>
  switchedBy.find(([, pattern]) => pattern.test(role))?.[0]

/**
 * Splits a user's roles into those that the organisation's switches enable and those that they disable (dormant).
 * Dormant roles grant no access, but a user with a dormant role may still manage other users with it: see
 * docs/decisions/0019.
 */
export function splitEnabledAndDormantRoles(
  roles: readonly Role[],
  client: ClientSwitches,
): { roles: Role[]; dormantRoles: Role[] } {
  const isOn = (role: Role) => {
    const name = findClientSwitch(role)
    return name === undefined || client[name]
  }
  return { roles: roles.filter(isOn), dormantRoles: roles.filter((role) => !isOn(role)) }
}

/**
 * Returns the areas that a user can open. Each requires a matching role and, if the area has one, the organisation's
 * switch.
 */
export function computeUserAccess({ roles }: RoleHolder, client: ClientSwitches) {
  return {
    hasManagerAccess: client.manager_enabled && hasRole(roles, 'ROLE_SEE_INSTANCE'),
    hasRouteAccess: client.routes_enabled && hasRole(roles, 'ROLE_SEE_ROUTE'),
    hasDataPipelineAccess: client.pipelines_enabled && hasRole(roles, 'ROLE_SEE_DATA_PIPELINE'),
    hasUserAccess: hasRole(roles, 'ROLE_MANAGE_USER'),
    hasClientAccess: hasRole(roles, 'ROLE_MANAGE_CLIENT'),
  }
}
