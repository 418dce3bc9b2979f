import { sql } from 'kysely'
import type { InvitedUser, UserBody } from '@sluice/contracts'
import { assertUnchanged } from '@sluice/records'
import type { Asked } from '../operation.ts'
import { demandGrantable } from '../roles-lacked.ts'
import { auditedOf } from './columns.ts'
import { hashOf, insertUser } from './create-user.ts'
import { auditedGroups } from './groups.ts'
import { invite } from './invite-user.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandPasswordAllowed } from './rules.ts'

/**
 * Makes a user with the roles, the groups and the client of another, and the rest from the body; invites them where they have
 * no other way in. Whoever copies holds every role that is copied. Answers the original and the copy.
 */
export async function copyUser(uid: string, body: UserBody, input: Asked): Promise<InvitedUser[]> {
  const { db, write, caller, config, request } = input
  const seen = await userRecords.read(db, caller, uid)
  demandGrantable(caller, seen.roles)
  demandPasswordAllowed(body, config.ADMIN_SETS_PASSWORDS)
  const hash = await hashOf(body, seen.client, input)

  const { original, copy, link } = await write(async (trx) => {
    const original = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandGrantable(caller, original.roles)
    const { rows: userGroups } = await sql<{ id: string }>`
      select g.uid as id from user_group_members m join user_groups g on g.id = m.user_group_id
      where m.user_id = ${original.id} order by g.id`.execute(trx)
    assertUnchanged(body.lastUpdated, original.updated_at, closedFields(body, original, userGroups))
    const like = { ...body, auths: original.roles, client: { id: original.client }, userGroups }
    const { user: copy, groups } = await insertUser(trx, like, hash, input)
    request.audit(copy.uid, { copyOf: original.uid, after: auditedOf(copy), ...auditedGroups(groups) })
    const { link } = copy.status === 'INVITATION' && !copy.sso_auth ? await invite(trx, copy, input) : {}
    return { original, copy, link }
  })
  const [first, second] = await userRecords.kind.present([original, copy], input)
  return [first!, { ...second!, ...(link !== undefined && { invitationLink: link }) }]
}

/** A copy has these of the original: a body that says otherwise is refused. */
function closedFields({ auths, client, userGroups }: UserBody, original: UserRow, groups: readonly { id: string }[]) {
  const instead = 'A copy has it of the original: leave it out, and change the copy afterwards.'
  const idsOf = (list: readonly { id: string }[] | undefined) => list?.map(({ id }) => id.toLowerCase())
  return [
    { pointer: '/auths', given: auths, stored: original.roles, instead },
    { pointer: '/client', given: client?.id.toLowerCase(), stored: original.client, instead },
    { pointer: '/userGroups', given: idsOf(userGroups), stored: idsOf(groups), instead },
  ]
}
