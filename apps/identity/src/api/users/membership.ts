import { sql, type Transaction } from 'kysely'
import { holds } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { UserRow } from './row.ts'
import { demandPowerOver } from './rules.ts'

/** As many as a user is shown with. */
const mostGroups = 1000

/**
 * Who is in a group reaches the data that is shared with it. So whoever manages groups cannot give themself that reach:
 * somebody else has to. A super admin can, who reaches everything of the client anyway. Anyone may leave.
 */
export function demandMembershipAllowed(
  caller: Caller,
  user: Pick<UserRow, 'uid' | 'roles'>,
  change: 'joining' | 'leaving',
): void {
  demandPowerOver(caller, user)
  if (change === 'joining' && user.uid === caller.uid && !holds(caller.roles, 'ROLE_SUPER_ADMIN'))
    throw problems.forbidden('Nobody puts themself into a user group: ask somebody else who manages groups.')
}

/** The user is locked, so that nobody else adds to their groups meanwhile. */
export async function demandRoomForGroups(trx: Transaction<DB>, { id }: Pick<UserRow, 'id'>): Promise<void> {
  const { rows } = await sql<{ groups: number }>`
    select count(*) as groups from user_group_members where user_id = ${id}`.execute(trx)
  if (rows[0]!.groups >= mostGroups)
    throw problems.refused('/', `A user is in at most ${mostGroups} groups, and this one is in as many.`)
}
