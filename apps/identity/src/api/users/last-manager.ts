import { sql, type Transaction } from 'kysely'
import { holds, type Role } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { UserRow } from './row.ts'

const managing: Role = 'ROLE_MANAGE_USER'

/**
 * Of themself, nobody takes the role to manage users away when nobody else at their client has it: they could not give it
 * back. Looks at what was changed already. Two who do so at once are not told apart; a super admin can mend that.
 */
export async function demandManagerLeft(trx: Transaction<DB>, before: UserRow, after: UserRow): Promise<void> {
  if (!before.roles.includes(managing) || holds(after.roles, managing)) return
  const { rows } = await sql`
    select from users where client = ${after.client} and status = 'ACTIVE' and uid <> ${after.uid}
      and roles && ${[managing, 'ROLE_SUPER_ADMIN']}::text[] limit 1`.execute(trx)
  if (rows.length === 0)
    throw problems.refused(
      '/auths',
      `Nobody at your organisation would be left who manages users: give somebody else ${managing} first.`,
    )
}
