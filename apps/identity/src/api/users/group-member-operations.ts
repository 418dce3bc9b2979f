import { type SqlBool, sql, type Transaction } from 'kysely'
import {
  hasRole,
  identityOperations,
  type ListQuery,
  toSearchRequest,
  type User,
  type UserBody,
} from '@sluice/contracts'
import { type Caller, type JsonResponse, problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { userGroupRecords, type UserGroupRow } from '../user-groups/records.ts'
import { userRecords, type UserRow, filterUsers } from './records.ts'
import { assertMayManageUser } from './user-management-rules.ts'

const { userGroups } = identityOperations

/**
 * The operations of `/user-groups/{uid}/members`. They are in the folder of users, because a membership changes the
 * user's version.
 */
export const groupMemberOperations = {
  listMembers: defineIdentityOperation(userGroups.listMembers, (input) =>
    listMembers(input.params.uid, input.query, input),
  ),
  addMember: defineIdentityOperation(userGroups.addMember, (input) => addMember(input.params, input)),
  removeMember: defineIdentityOperation(userGroups.removeMember, (input) => removeMember(input.params, input)),
}

interface MembershipReference {
  uid: string
  userUid: string
}

/** Lists the users in a group. Supports the search properties of the user list. */
async function listMembers(
  uid: string,
  query: ListQuery,
  input: IdentityRequestContext,
): Promise<JsonResponse<User[]>> {
  const group = await userGroupRecords.read(input.db, input.caller, uid)
  // `r` is the row of the user.
  const isMember = sql<SqlBool>`exists (
    select from user_group_members members where members.user_id = r.id and members.user_group_id = ${group.id})`
  const members = filterUsers({ name: `members of ${group.uid}`, condition: isMember, inTotalsTable: false })
  return members.search(input.db, input, toSearchRequest(query), input.request.url)
}

/** Adds a user to a group unless they are a member already. */
const addMember = (membership: MembershipReference, input: IdentityRequestContext) =>
  changeMembership(membership, input, async (trx, group, user) => {
    assertMembershipAllowed(input.caller, user, 'joining')
    await assertBelowGroupLimit(trx, user)
    return sql`
      insert into user_group_members (user_group_id, user_id) values (${group.id}, ${user.id}) on conflict do nothing`
  })

/** Removes a user from a group if they are a member. */
const removeMember = (membership: MembershipReference, input: IdentityRequestContext) =>
  changeMembership(membership, input, async (_trx, group, user) => {
    assertMembershipAllowed(input.caller, user, 'leaving')
    return sql`delete from user_group_members where user_group_id = ${group.id} and user_id = ${user.id}`
  })

/**
 * Locks the user and executes the statement that `buildStatement` returns, which adds or removes one membership. If the
 * statement changed a row, increments the user's version, because groups are part of the user: a concurrent
 * replacement of the user then fails with a version conflict. Throws 404 if the user belongs to another organisation
 * than the group.
 */
async function changeMembership(
  { uid, userUid }: MembershipReference,
  { write, caller, request }: IdentityRequestContext,
  buildStatement: (trx: Transaction<DB>, group: UserGroupRow, user: UserRow) => Promise<ReturnType<typeof sql>>,
): Promise<undefined> {
  await write(async (trx) => {
    const group = await userGroupRecords.read(trx, caller, uid)
    const user = await userRecords.lock(trx, caller, userUid, undefined)
    if (user.client !== group.client) throw problems.notFound('user')
    const statement = await buildStatement(trx, group, user)
    const { numAffectedRows } = await statement.execute(trx)
    const changed = Number(numAffectedRows ?? 0) > 0
    if (changed) await userRecords.update(trx, caller, user, {})
    request.audit(group.uid, { code: group.code, user: user.uid, username: user.username, changed })
  })
}

type GroupMember = Pick<UserRow, 'id' | 'uid' | 'client' | 'roles'>

/** The groups that a user joined and left through a change, for the audit log. */
export interface GroupChange {
  joined: GroupName[]
  left: GroupName[]
}

interface GroupName {
  id: string
  code: string
}

/**
 * Makes a user a member of exactly the requested groups, and returns the groups that the user joined and left. Throws
 * 422 if a requested group does not exist or belongs to another organisation. Throws 403 if the caller may not make the
 * change: only callers who leave groups themselves need no ROLE_MANAGE_USER_GROUP. The error rolls the changes back.
 */
export async function replaceGroups(
  trx: Transaction<DB>,
  caller: Caller,
  user: GroupMember,
  requested: UserBody['userGroups'] = [],
): Promise<GroupChange> {
  const ids = await lockRequestedGroups(trx, user.client, requested)
  const left = await leaveOtherGroups(trx, user, ids)
  const joined = await joinGroups(trx, user, ids)
  const isOwnUser = user.uid === caller.uid
  const requiresRole = joined.length > 0 || (left.length > 0 && !isOwnUser)
  if (requiresRole && !hasRole(caller.roles, 'ROLE_MANAGE_USER_GROUP'))
    throw problems.forbidden(
      'Changing the groups of a user requires ROLE_MANAGE_USER_GROUP. Send userGroups unchanged.',
    )
  if (joined.length > 0 && isOwnUser) assertMembershipAllowed(caller, user, 'joining')
  return { joined, left }
}

/**
 * Returns the ids of the requested groups, and locks the groups until the transaction ends. Throws 422 if a group is
 * missing.
 */
async function lockRequestedGroups(
  trx: Transaction<DB>,
  client: string,
  requested: readonly { id: string }[],
): Promise<number[]> {
  const uids = requested.map(({ id }) => id.toLowerCase())
  const { rows } = await sql<{ id: number; uid: string }>`
    select id, uid from user_groups where client = ${client} and uid = any(${uids}) for key share`.execute(trx)
  const existingUids = new Set(rows.map(({ uid }) => uid))
  const missingIndex = uids.findIndex((uid) => !existingUids.has(uid))
  if (missingIndex >= 0)
    throw problems.refused(
      `/userGroups/${missingIndex}/id`,
      `No user group of this organisation has the id ${uids[missingIndex]}. Choose an existing group.`,
    )
  return rows.map(({ id }) => id)
}

/** Removes the user from all groups except these, and returns the groups that the user left. */
async function leaveOtherGroups(trx: Transaction<DB>, user: GroupMember, ids: number[]): Promise<GroupName[]> {
  const { rows } = await sql<GroupName>`
    with left_groups as (
      delete from user_group_members where user_id = ${user.id} and user_group_id <> all(${ids}) returning user_group_id)
    select uid as id, code from user_groups
    where id in (select user_group_id from left_groups) order by code`.execute(trx)
  return rows
}

/** Makes the user a member of these groups, and returns those of which they were not a member before. */
async function joinGroups(trx: Transaction<DB>, user: GroupMember, ids: number[]): Promise<GroupName[]> {
  const { rows } = await sql<GroupName>`
    with joined_groups as (
      insert into user_group_members (user_id, user_group_id)
      select ${user.id}, unnest(${ids}::bigint[]) on conflict do nothing returning user_group_id)
    select uid as id, code from user_groups
    where id in (select user_group_id from joined_groups) order by code`.execute(trx)
  return rows
}

/** Returns the properties of a group change for the audit log; empty if nothing changed. */
export const toGroupAudit = ({ joined, left }: GroupChange): { userGroups?: GroupChange } =>
  joined.length + left.length > 0 ? { userGroups: { joined, left } } : {}

/** Returns the groups of a user, ordered by code. */
export async function listGroupsOfUser(trx: Transaction<DB>, { id }: Pick<UserRow, 'id'>): Promise<GroupName[]> {
  const { rows } = await sql<GroupName>`
    select user_groups.uid as id, user_groups.code
    from user_group_members members join user_groups on user_groups.id = members.user_group_id
    where members.user_id = ${id} order by user_groups.code`.execute(trx)
  return rows
}

/** The maximum number of groups in the presentation of a user. */
const maxGroupsPerUser = 1000

/**
 * Throws 403 if callers add themselves to a group, because they would gain access to the data shared with it. Super
 * admins may, because they have access to all data anyway. Every user may leave a group.
 */
function assertMembershipAllowed(
  caller: Caller,
  user: Pick<UserRow, 'uid' | 'roles'>,
  change: 'joining' | 'leaving',
): void {
  assertMayManageUser(caller, user)
  if (change === 'joining' && user.uid === caller.uid && !hasRole(caller.roles, 'ROLE_SUPER_ADMIN'))
    throw problems.forbidden('You cannot add yourself to a user group. Ask another administrator who manages groups.')
}

/**
 * Throws 422 if the user already has the maximum number of groups. The caller must hold the lock on the user, so that
 * no concurrent change adds groups.
 */
async function assertBelowGroupLimit(trx: Transaction<DB>, { id }: Pick<UserRow, 'id'>): Promise<void> {
  const { rows } = await sql<{ groups: number }>`
    select count(*) as groups from user_group_members where user_id = ${id}`.execute(trx)
  if (rows[0]!.groups >= maxGroupsPerUser)
    throw problems.refused(
      '/',
      `A user can be in at most ${maxGroupsPerUser} groups. Remove this user from another group first.`,
    )
}
