import { sql, type Transaction } from 'kysely'
import { identityOperations, type InvitedUser, type UserBody } from '@sluice/contracts'
import { type JsonResponse, problems } from '@sluice/http-server'
import { assertUnchanged } from '@sluice/records'
import type { DB } from '../../database.ts'
import { assertMailAllowed } from '../../email/email-rate-limits.ts'
import { mailInvitation, mailPasswordReset } from '../../email/queue-account-emails.ts'
import { addLink } from '../../sign-in/tokens/one-time-links.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { assertGrantable } from '../role-grant-rules.ts'
import { toGroupAudit } from './group-member-operations.ts'
import { toUserAudit, userRecords, type UserRow } from './records.ts'
import { assertPasswordAllowed, lockManageableUser } from './user-management-rules.ts'
import { hashBodyPassword, insertUser } from './write.ts'

/**
 * A user and, without an SMTP server, the user's invitation link. The link gives access to the account, so the API
 * returns it only to callers who are signed in, not to API tokens or applications.
 */
interface InvitedUserRow {
  user: UserRow
  link: string | undefined
}

/**
 * Creates a user and mails them an invitation. They are in status INVITATION until they accept and choose a password.
 */
async function inviteUser(body: UserBody, input: IdentityRequestContext): Promise<JsonResponse<InvitedUser>> {
  const { write, caller, request } = input
  assertGrantable(caller, body.auths ?? [])
  if (body.password !== undefined)
    throw problems.refused('/password', 'Invited users choose their own password. Omit the password.')
  const { user, link } = await write(async (trx) => {
    const { user, groups } = await insertUser(trx, body, null, input, 'INVITATION')
    request.audit(user.uid, { after: toUserAudit(user), ...toGroupAudit(groups) })
    return createInvitation(trx, user, input)
  })
  return addInvitationLink(await userRecords.created(user, input), link)
}

/**
 * Mails a new invitation link to a user who cannot sign in: an invited user, or a user whom an update left without a
 * password and without single sign-on. The status becomes INVITATION. Throws 409 for a user who can sign in.
 */
async function resendInvitation(uid: string, input: IdentityRequestContext): Promise<JsonResponse<InvitedUser>> {
  const { write, caller, request } = input
  const { user, link } = await write(async (trx) => {
    const before = await lockManageableUser(trx, caller, uid, request.ifMatch)
    assertInvitable(before)
    const after =
      before.status === 'INVITATION' ? before : await userRecords.update(trx, caller, before, { status: 'INVITATION' })
    request.audit(uid, { before: toUserAudit(before), after: toUserAudit(after) })
    return createInvitation(trx, after, input)
  })
  return addInvitationLink(await userRecords.answer(user, input), link)
}

/**
 * Creates an invitation link and queues its mail, both in the given transaction. Returns the link to a signed-in caller
 * if no SMTP server is configured, because the mail would not be sent.
 */
async function createInvitation(
  trx: Transaction<DB>,
  user: UserRow,
  { config, caller }: Pick<IdentityRequestContext, 'config' | 'caller'>,
): Promise<InvitedUserRow> {
  await assertInvitingClientEnabled(trx, user)
  await assertMailAllowed(trx, 'INVITATION', user)
  const link = await addLink(trx, user, 'INVITATION', config)
  await mailInvitation(trx, config, user, link)
  const mayReturnLink = !config.SMTP_URL && caller.inPerson
  return { user, link: mayReturnLink ? link.url : undefined }
}

/**
 * Throws 409 for a disabled organisation, because its users cannot accept invitations. Locks the organisation's row.
 */
async function assertInvitingClientEnabled(trx: Transaction<DB>, { client }: UserRow): Promise<void> {
  const { rows } = await sql<{ disabled: boolean }>`
    select disabled from clients where uid = ${client} for share`.execute(trx)
  if (rows[0]?.disabled)
    throw problems.conflict(
      '/client',
      'This organisation is disabled, so its users cannot accept invitations. Enable it first.',
    )
}

function addInvitationLink(answer: JsonResponse<InvitedUser>, link: string | undefined): JsonResponse<InvitedUser> {
  if (link !== undefined) answer.body.invitationLink = link
  return answer
}

function assertInvitable({ status, password_hash, sso_auth }: UserRow): void {
  if (status !== 'INVITATION' && (password_hash !== null || sso_auth))
    throw problems.conflict('/status', 'This user can already sign in and needs no invitation.')
}

/**
 * Mails a user a link for choosing a new password. The old password and open sessions stay valid until the user uses
 * the link.
 */
async function startPasswordReset(
  uid: string,
  { write, caller, config, request }: IdentityRequestContext,
): Promise<void> {
  await write(async (trx) => {
    const user = await lockManageableUser(trx, caller, uid, request.ifMatch)
    assertPasswordResettable(user, caller.uid)
    await assertMailAllowed(trx, 'PASSWORD_RESET', user)
    await mailPasswordReset(trx, config, user, await addLink(trx, user, 'PASSWORD_RESET', config))
    request.audit(user.uid, { outcome: 'mailed' })
  })
}

/** Throws 422 for the caller's own user, and for a user without a password or with a status other than ACTIVE. */
function assertPasswordResettable({ uid, status, sso_auth }: UserRow, caller: string): void {
  // The endpoint for callers' own passwords requires the current password, and a link does not. Without an SMTP server,
  // administrators can read links in the stored mails, so they could otherwise skip that proof.
  if (uid === caller) throw problems.refused('/', 'Change your own password with PUT /users/me/password.')
  if (sso_auth)
    throw problems.refused('/', 'A user with single sign-on has no password here. Reset it at the provider.')
  if (status === 'INVITATION')
    throw problems.refused('/', 'This user has not accepted the invitation yet. Send the invitation again.')
  if (status === 'INACTIVE') throw problems.refused('/', 'This user is deactivated. Reactivate the user first.')
}

const { users } = identityOperations

/** Invitations and password resets that administrators send. */
export const userInvitationOperations = {
  invite: defineIdentityOperation(users.invite, (input) => inviteUser(input.body, input)),

  resendInvitation: defineIdentityOperation(users.resendInvitation, (input) =>
    resendInvitation(input.params.uid, input),
  ),

  copy: defineIdentityOperation(users.copy, (input) => copyUser(input.params.uid, input.body, input)),

  startPasswordReset: defineIdentityOperation(users.startPasswordReset, async (input) => {
    await startPasswordReset(input.params.uid, input)
    return undefined
  }),
}

/**
 * Creates a user with the roles, groups and organisation of another user, and the other fields from the body. Invites
 * the new user if they cannot sign in otherwise. The caller must hold every copied role. Returns both users.
 */
async function copyUser(uid: string, body: UserBody, input: IdentityRequestContext): Promise<InvitedUser[]> {
  const { db, write, caller, config, request } = input
  const currentRow = await userRecords.read(db, caller, uid)
  assertGrantable(caller, currentRow.roles)
  assertPasswordAllowed(body, config.ADMIN_SETS_PASSWORDS)
  const hash = await hashBodyPassword(body, currentRow.client, input)

  const { original, copy, link } = await write(async (trx) => {
    const original = await userRecords.lock(trx, caller, uid, request.ifMatch)
    assertGrantable(caller, original.roles)
    const userGroups = await listGroupReferences(trx, original)
    assertUnchanged(body.lastUpdated, original.updated_at, listCopiedFields(body, original, userGroups))
    const bodyOfCopy = { ...body, auths: original.roles, client: { id: original.client }, userGroups }
    const { user: copy, groups } = await insertUser(trx, bodyOfCopy, hash, input)
    request.audit(copy.uid, { copyOf: original.uid, after: toUserAudit(copy), ...toGroupAudit(groups) })
    const needsInvitation = copy.status === 'INVITATION' && !copy.sso_auth
    const link = needsInvitation ? (await createInvitation(trx, copy, input)).link : undefined
    return { original, copy, link }
  })
  const [presentedOriginal, presentedCopy] = await userRecords.definition.present([original, copy], input)
  return [presentedOriginal!, { ...presentedCopy!, ...(link !== undefined && { invitationLink: link }) }]
}

async function listGroupReferences(trx: Transaction<DB>, { id }: UserRow): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`
    select user_groups.uid as id
    from user_group_members members join user_groups on user_groups.id = members.user_group_id
    where members.user_id = ${id} order by user_groups.id`.execute(trx)
  return rows
}

/**
 * Lists the fields that the copied user inherits from the original, for `assertUnchanged`: the value in the body, the
 * stored value, and the message of the error if the two differ.
 */
function listCopiedFields(
  { auths, client, userGroups }: UserBody,
  original: UserRow,
  groups: readonly { id: string }[],
) {
  const instead = 'The copy takes this field from the original. Omit it, and change the copy afterwards.'
  const idsOf = (list: readonly { id: string }[] | undefined) => list?.map(({ id }) => id.toLowerCase())
  return [
    { pointer: '/auths', sent: auths, stored: original.roles, instead },
    { pointer: '/client', sent: client?.id.toLowerCase(), stored: original.client, instead },
    { pointer: '/userGroups', sent: idsOf(userGroups), stored: idsOf(groups), instead },
  ]
}
