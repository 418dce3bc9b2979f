import { holds, type Role } from '@sluice/contracts'
import type { Caller } from '@sluice/http'

/**
 * Which of these roles a caller does not hold. What their client switched off is still held: an administrator there must be
 * able to edit colleagues who hold it too.
 */
export const rolesLacked = ({ roles: awake, dormantRoles }: Caller, roles: readonly Role[]): Role[] =>
  roles.filter((role) => !holds([...awake, ...dormantRoles], role))
