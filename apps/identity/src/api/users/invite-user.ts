import { sql, type Transaction } from 'kysely'
import type { InvitedUser, UserBody } from '@sluice/contracts'
import { problems, type Answer } from '@sluice/http'
import type { DB } from '../../database.ts'
import { assertMailAllowed } from '../../mail/allowance.ts'
import { mailInvitation } from '../../mail/notices.ts'
import { addLink } from '../../sign-in/links.ts'
import type { Asked } from '../operation.ts'
import { demandGrantable } from '../roles-lacked.ts'
import { auditedOf } from './columns.ts'
import { insertUser } from './create-user.ts'
import { auditedGroups } from './groups.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { demandPowerOver } from './rules.ts'

/**
 * A user and, where there is no mail server to bring it to them, the link of their invitation. Whoever has a link has the
 * account, so it goes to people in person only, like the mail that is kept of it.
 */
interface Invited {
  user: UserRow
  link: string | undefined
}

/** Makes a user who is invited by mail: INVITATION until they accept. They choose their password themself. */
export async function inviteUser(body: UserBody, input: Asked): Promise<Answer<InvitedUser>> {
  const { write, caller, request } = input
  demandGrantable(caller, body.auths ?? [])
  if (body.password !== undefined)
    throw problems.refused('/password', 'Whoever is invited chooses their own password: leave it out.')
  const { user, link } = await write(async (trx) => {
    const { user, groups } = await insertUser(trx, body, null, input, 'INVITATION')
    request.audit(user.uid, { after: auditedOf(user), ...auditedGroups(groups) })
    return invite(trx, user, input)
  })
  return withLink(await userRecords.created(user, input), link)
}

/** Sends an invited user a new link; so it does somebody whom an update left without any way to sign in. */
export async function resendInvitation(uid: string, input: Asked): Promise<Answer<InvitedUser>> {
  const { write, caller, request } = input
  const { user, link } = await write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    demandPowerOver(caller, before)
    demandInvitable(before)
    const after =
      before.status === 'INVITATION' ? before : await userRecords.update(trx, caller, before, { status: 'INVITATION' })
    request.audit(uid, { before: auditedOf(before), after: auditedOf(after) })
    return invite(trx, after, input)
  })
  return withLink(await userRecords.answer(user, input), link)
}

/** Makes the link of an invitation and mails it, in the transaction of the change. */
export async function invite(
  trx: Transaction<DB>,
  user: UserRow,
  { config, caller }: Pick<Asked, 'config' | 'caller'>,
): Promise<Invited> {
  await assertClientEnabled(trx, user)
  await assertMailAllowed(trx, 'INVITATION', user)
  const link = await addLink(trx, user, 'INVITATION', config)
  await mailInvitation(trx, config, user, link)
  return { user, link: config.SMTP_URL || !caller.inPerson ? undefined : link.url }
}

/** Nobody could accept the invitation. Locked, so that the client is not disabled meanwhile. */
async function assertClientEnabled(trx: Transaction<DB>, { client }: UserRow): Promise<void> {
  const { rows } = await sql<{ disabled: boolean }>`
    select disabled from clients where uid = ${client} for share`.execute(trx)
  if (rows[0]?.disabled)
    throw problems.conflict('/client', 'This client is disabled, so nobody can accept: enable it before you invite.')
}

export function withLink(answer: Answer<InvitedUser>, link: string | undefined): Answer<InvitedUser> {
  if (link !== undefined) answer.body.invitationLink = link
  return answer
}

function demandInvitable({ status, password_hash, sso_auth }: UserRow): void {
  if (status !== 'INVITATION' && (password_hash !== null || sso_auth))
    throw problems.conflict('/status', 'This user can sign in already: there is nothing to accept.')
}
