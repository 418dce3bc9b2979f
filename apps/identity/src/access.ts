import { holds, type Role } from '@sluice/contracts'

interface Holder {
  roles: readonly Role[]
}

interface Switches {
  manager_enabled: boolean
  routes_enabled: boolean
  pipelines_enabled: boolean
}

/** What a user can reach: the client's switch and a matching role. */
export function accessOfUser({ roles }: Holder, client: Switches) {
  return {
    hasManagerAccess: client.manager_enabled && holds(roles, 'ROLE_SEE_INSTANCE'),
    hasRouteAccess: client.routes_enabled && holds(roles, 'ROLE_SEE_ROUTE'),
    hasDataPipelineAccess: client.pipelines_enabled && holds(roles, 'ROLE_SEE_DATA_PIPELINE'),
    hasUserAccess: holds(roles, 'ROLE_MANAGE_USER'),
    hasClientAccess: holds(roles, 'ROLE_MANAGE_CLIENT'),
  }
}
