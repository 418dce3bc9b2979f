import { sql, type Transaction } from 'kysely'
import { type ListQuery, type User, searchOf } from '@sluice/contracts'
import { problems, type JsonResponse } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation.ts'
import { assertMembershipAllowed, assertBelowGroupLimit } from '../users/groups.ts'
import { userRecords, usersOnly } from '../users/records.ts'
import type { UserRow } from '../users/row.ts'
import { userGroupRecords } from './records.ts'
import type { UserGroupRow } from './row.ts'

interface MembershipReference {
  uid: string
  userUid: string
}

/** Lists the users in a group, with the search properties of the user list. */
export async function listMembers(
  uid: string,
  query: ListQuery,
  input: IdentityRequestContext,
): Promise<JsonResponse<User[]>> {
  const group = await userGroupRecords.read(input.db, input.caller, uid)
  const members = usersOnly({
    name: `members of ${group.uid}`,
    condition: sql`exists (select from user_group_members m where m.user_id = r.id and m.user_group_id = ${group.id})`,
    tallied: false,
  })
  return members.search(input.db, input, searchOf(query), input.request.url)
}

/** Adds a user to a group unless they are a member already. */
export const addMember = (place: MembershipReference, input: IdentityRequestContext) =>
  changeMembership(place, input, async (trx, group, user) => {
    assertMembershipAllowed(input.caller, user, 'joining')
    await assertBelowGroupLimit(trx, user)
    return sql`
      insert into user_group_members (user_group_id, user_id) values (${group.id}, ${user.id}) on conflict do nothing`
  })

/** Removes a user from a group if they are a member. */
export const removeMember = (place: MembershipReference, input: IdentityRequestContext) =>
  changeMembership(place, input, async (_trx, group, user) => {
    assertMembershipAllowed(input.caller, user, 'leaving')
    return sql`delete from user_group_members where user_group_id = ${group.id} and user_id = ${user.id}`
  })

/**
 * Adds or removes one membership and locks user and group. A user's groups are part of the user, so a change increments
 * the user's version, and a concurrent replacement of the user fails.
 */
async function changeMembership(
  { uid, userUid }: MembershipReference,
  { write, caller, request }: IdentityRequestContext,
  change: (trx: Transaction<DB>, group: UserGroupRow, user: UserRow) => Promise<ReturnType<typeof sql>>,
): Promise<undefined> {
  await write(async (trx) => {
    const group = await userGroupRecords.read(trx, caller, uid)
    const user = await userRecords.lock(trx, caller, userUid, undefined)
    if (user.client !== group.client) throw problems.notFound('user')
    const { numAffectedRows } = await (await change(trx, group, user)).execute(trx)
    const changed = Number(numAffectedRows ?? 0) > 0
    if (changed) await userRecords.update(trx, caller, user, {})
    request.audit(group.uid, { code: group.code, user: user.uid, username: user.username, changed })
  })
}
