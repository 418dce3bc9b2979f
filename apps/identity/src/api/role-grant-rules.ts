import { sql, type Transaction } from 'kysely'
import { hasRole, type Role } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import type { DB } from '../database.ts'
import type { UserRow } from './users/records.ts'

/**
 * Returns the roles that the caller does not hold. A role that a switch of the organisation disables counts as held.
 * Otherwise administrators there could not edit colleagues with that role.
 */
export const listMissingRoles = ({ roles: enabledRoles, dormantRoles }: Caller, roles: readonly Role[]): Role[] =>
  roles.filter((role) => !hasRole([...enabledRoles, ...dormantRoles], role))

/** Throws 403 if the caller lacks one of these roles, because callers may only grant roles that they hold. */
export function assertGrantable(caller: Caller, roles: readonly Role[]): void {
  const lacked = listMissingRoles(caller, roles)
  if (lacked.length > 0)
    throw problems.forbidden(`You cannot grant roles that you lack: ${lacked.join(', ')}. Ask a user who has them.`)
}

/** Any number that no other advisory lock of this service uses. */
const superAdminLock = 7_314_511

/**
 * Returns whether this user can sign in without an SSO provider and administer the whole system. Assumes that the
 * user's organisation is enabled.
 */
export const isActiveSuperAdmin = ({ roles, status, password_hash }: UserRow): boolean =>
  roles.includes('ROLE_SUPER_ADMIN') && status === 'ACTIVE' && password_hash !== null

/**
 * Runs a change and throws if no super admin remains. Only one such change runs at a time, because two concurrent
 * changes that each see the other's super admin would leave none. `pointer` names the rejected field.
 */
export async function assertSuperAdminRemainsAfter<T>(
  trx: Transaction<DB>,
  pointer: string,
  change: () => Promise<T>,
): Promise<T> {
  await sql`select pg_advisory_xact_lock(${superAdminLock})`.execute(trx)
  const changed = await change()
  const { rows } = await sql`
    select from users join clients on clients.uid = users.client
    where 'ROLE_SUPER_ADMIN' = any (users.roles) and users.status = 'ACTIVE' and users.password_hash is not null
      and not clients.disabled
    limit 1`.execute(trx)
  if (rows.length === 0)
    throw problems.refused(
      pointer,
      'This is the last active super admin. Give another user the role ROLE_SUPER_ADMIN first.',
    )
  return changed
}

const manageUsersRole: Role = 'ROLE_MANAGE_USER'

/**
 * Throws 422 if users remove their own manager role and no other manager of their organisation remains. Call it after
 * the change. Two concurrent changes are not detected; a super admin can repair that.
 */
export async function assertManagerRemains(trx: Transaction<DB>, before: UserRow, after: UserRow): Promise<void> {
  const losesManagerRole = before.roles.includes(manageUsersRole) && !hasRole(after.roles, manageUsersRole)
  if (!losesManagerRole) return
  const { rows: otherManagers } = await sql`
    select from users where client = ${after.client} and status = 'ACTIVE' and uid <> ${after.uid}
      and roles && ${[manageUsersRole, 'ROLE_SUPER_ADMIN']}::text[] limit 1`.execute(trx)
  if (otherManagers.length === 0)
    throw problems.refused(
      '/auths',
      `You are the last manager of users in your organisation. Give another user ${manageUsersRole} first.`,
    )
}
