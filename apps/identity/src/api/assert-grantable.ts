import { holds, type Role } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http-server'

/**
 * Returns those of these roles that the caller does not hold. A role that the client's switches disable counts as held,
 * so that an administrator there can edit colleagues who hold it too.
 */
export const missingRoles = ({ roles: awake, dormantRoles }: Caller, roles: readonly Role[]): Role[] =>
  roles.filter((role) => !holds([...awake, ...dormantRoles], role))

/** Callers may only grant roles that they hold. */
export function assertGrantable(caller: Caller, roles: readonly Role[]): void {
  const lacked = missingRoles(caller, roles)
  if (lacked.length > 0) throw problems.forbidden(`You cannot grant what you do not hold: ${lacked.join(', ')}.`)
}
