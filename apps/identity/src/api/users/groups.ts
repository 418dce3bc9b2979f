import { sql, type Transaction } from 'kysely'
import { holds, type UserBody } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import type { DB } from '../../database.ts'
import { demandMembershipAllowed } from './membership.ts'
import type { UserRow } from './row.ts'

type Member = Pick<UserRow, 'id' | 'uid' | 'client' | 'roles'>

/**
 * Makes a user a member of exactly these groups, which must be of their own client. Of others, nobody learns anything. Who is
 * in a group reaches what is shared with it, so a change takes the role that manages groups; the same list takes none, nor does leaving.
 */
export async function replaceGroups(
  trx: Transaction<DB>,
  caller: Caller,
  user: Member,
  wanted: UserBody['userGroups'] = [],
): Promise<void> {
  const uids = wanted.map(({ id }) => id.toLowerCase())
  const { rows } = await sql<{ id: number; uid: string }>`
    select id, uid from user_groups where client = ${user.client} and uid = any(${uids}) for key share`.execute(trx)
  const found = new Set(rows.map(({ uid }) => uid))
  const missing = uids.findIndex((uid) => !found.has(uid))
  if (missing >= 0)
    throw problems.refused(
      `/userGroups/${missing}/id`,
      `There is no user group with the id ${uids[missing]} in this client.`,
    )
  const ids = rows.map(({ id }) => id)
  const left =
    await sql`delete from user_group_members where user_id = ${user.id} and user_group_id <> all(${ids})`.execute(trx)
  const joined = await sql`
    insert into user_group_members (user_id, user_group_id)
    select ${user.id}, unnest(${ids}::bigint[]) on conflict do nothing`.execute(trx)
  const [joins, leaves] = [joined, left].map(({ numAffectedRows }) => Number(numAffectedRows ?? 0) > 0)
  if ((joins || (leaves && user.uid !== caller.uid)) && !holds(caller.roles, 'ROLE_MANAGE_USER_GROUP'))
    throw problems.forbidden(
      'To change the groups of a user takes ROLE_MANAGE_USER_GROUP: send userGroups as they are.',
    )
  if (joins && user.uid === caller.uid) demandMembershipAllowed(caller, user, 'joining')
}
