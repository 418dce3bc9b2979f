import { Type } from 'typebox'

export const allRoles = [
  'ROLE_MANAGE_CLIENT',
  'ROLE_SUPER_ADMIN',
  'ROLE_MANAGE_USER',
  'ROLE_MANAGE_USER_GROUP',
  'ROLE_MANAGE_SSO_PROVIDER_CONFIG',
  'ROLE_MANAGE_SSO_CLIENT_CONFIG',
  'ROLE_SEE_INSTANCE',
  'ROLE_MANAGE_INSTANCE',
  'ROLE_GET_FILE',
  'ROLE_GET_FILE_INDIVIDUAL',
  'ROLE_SEE_AUDIT_LOG',
  'ROLE_MANAGE_HOSTING_PLAN',
  'ROLE_SEE_ROUTE',
  'ROLE_MANAGE_ROUTE',
  'ROLE_SEE_DATA_PIPELINE',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_SEE_VIEW',
  'ROLE_MANAGE_VIEW',
  'ROLE_SEE_SCHEMA',
  'ROLE_MANAGE_SCHEMA',
  'ROLE_SEE_DESTINATION',
  'ROLE_MANAGE_DESTINATION',
  'ROLE_SEE_WORKFLOW',
  'ROLE_MANAGE_WORKFLOW',
  'ROLE_SEE_VARIABLE',
  'ROLE_MANAGE_VARIABLE',
  'ROLE_MANAGE_SETTING',
  'ROLE_SEE_DATA_QUALITY_CHECK',
  'ROLE_MANAGE_DATA_QUALITY_CHECK',
  'ROLE_SEE_DATA_QUALITY_CHECK_GROUP',
  'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP',
  'ROLE_SEE_FIREWALL_RULE',
  'ROLE_MANAGE_FIREWALL_RULE',
  'ROLE_VIEW_DATA_ANALYTICS_PLATFORM',
  'ROLE_VIEW_DATA_ALL_DATA_PIPELINE',
  'ROLE_SEE_DATA_PIPELINE_CONFIG',
  'ROLE_MANAGE_DATA_PIPELINE_CONFIG',
  'ROLE_MANAGE_PUBLIC_DATASET_CATALOG',
] as const

export type Role = (typeof allRoles)[number]

export const RoleName = Type.Enum([...allRoles])

export const RoleList = Type.Array(RoleName, { uniqueItems: true, maxItems: allRoles.length })

/**
 * Returns whether the held roles include `role`. ROLE_SUPER_ADMIN includes all roles, and ROLE_MANAGE_x includes
 * ROLE_SEE_x.
 */
export function hasRole(heldRoles: readonly Role[], role: Role): boolean {
  if (heldRoles.includes(role) || heldRoles.includes('ROLE_SUPER_ADMIN')) return true
  return role.startsWith('ROLE_SEE_') && heldRoles.includes(role.replace('_SEE_', '_MANAGE_') as Role)
}

/**
 * Returns those roles in the space-separated `scope` that the user holds. An application that acts for the user has
 * only these.
 */
export function selectHeldRoles(heldRoles: readonly Role[], scope: string): Role[] {
  const scopeNames = new Set(scope.split(' '))
  return allRoles.filter((role) => scopeNames.has(role) && hasRole(heldRoles, role))
}
