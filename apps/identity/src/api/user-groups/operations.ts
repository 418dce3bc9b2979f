import { sql, type Transaction } from 'kysely'
import { identityOperations, type UserGroupBody } from '@sluice/contracts'
import { recordOperations } from '@sluice/records'
import type { DB } from '../../database.ts'
import { assertClientUnchanged, resolveClient } from '../clients/records.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { userGroupRecords, type UserGroupRow } from './records.ts'

/**
 * The generic create, replace and delete operations for user groups: see `recordOperations`. Deleting a group deletes
 * its memberships.
 */
const userGroupWriting = {
  check: async () => {},
  columns: async (
    trx: Transaction<DB>,
    body: UserGroupBody,
    current: UserGroupRow | undefined,
    { caller }: IdentityRequestContext,
  ): Promise<object> => {
    // Members belong to the group's organisation, so a group cannot move to another one.
    if (current) assertClientUnchanged(body, current, 'A user group')
    return {
      name: body.name,
      translations: JSON.stringify(body.translations ?? []),
      code: body.code,
      description: body.description ?? null,
      ...(!current && { client: await resolveClient(trx, caller, body.client?.id) }),
    }
  },
  beforeDelete: auditDeletedMembers,
  afterDelete: async () => {},
}

/** Writes the members of a deleted group to the audit log: their number and at most 1,000 usernames. */
async function auditDeletedMembers(
  trx: Transaction<DB>,
  group: UserGroupRow,
  { request }: IdentityRequestContext,
): Promise<void> {
  const { rows } = await sql<{ username: string }>`
    select users.username from user_group_members members join users on users.id = members.user_id
    where members.user_group_id = ${group.id} order by users.username limit 1000`.execute(trx)
  const countResult = await sql<{ members: number }>`
    select count(*) as members from user_group_members where user_group_id = ${group.id}`.execute(trx)
  const { members } = countResult.rows[0]!
  if (members > 0)
    request.audit(group.uid, {
      before: { name: group.name, code: group.code },
      members,
      left: rows.map(({ username }) => username),
    })
}

export const userGroupOperations = recordOperations(identityOperations.userGroups, {
  operation: defineIdentityOperation,
  records: userGroupRecords,
  writing: userGroupWriting,
})
