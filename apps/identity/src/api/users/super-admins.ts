import { sql, type Transaction } from 'kysely'
import { problems } from '@sluice/http'
import type { UserRow } from './row.ts'
import type { DB } from '../../database.ts'

/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_511

/** Can this user, while their client is not disabled, sign in and administer the whole system, even if no SSO provider answers? */
export const canAdminister = ({ roles, status, password_hash }: UserRow): boolean =>
  roles.includes('ROLE_SUPER_ADMIN') && status === 'ACTIVE' && password_hash !== null

/**
 * Makes a change that may take the last super admin away, and refuses it if it did. One such change at a time: two that
 * each see the other's super admin would leave none. `pointer` names the field that is at fault.
 */
export async function keepingASuperAdmin<T>(
  trx: Transaction<DB>,
  pointer: string,
  change: () => Promise<T>,
): Promise<T> {
  await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
  const changed = await change()
  const { rows } = await sql`
    select from users u join clients c on c.uid = u.client
    where 'ROLE_SUPER_ADMIN' = any (u.roles) and u.status = 'ACTIVE' and u.password_hash is not null and not c.disabled
    limit 1`.execute(trx)
  if (rows.length === 0)
    throw problems.refused(
      pointer,
      'Nobody would be left who can administer the whole system: this is the last active super admin.',
    )
  return changed
}
