import {
  type AcceptInvitationBody,
  type ForgotPasswordBody,
  type ResetPasswordBody,
  identityOperations,
} from '@sluice/contracts'
import { defineIdentityOperation, discard } from '../operation-context.ts'
import { type Kysely, sql } from 'kysely'
import { type AuditActor, problems } from '@sluice/http-server'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { MailConfig } from '../../email/outbox.ts'
import { type FoundLink, consumeLink, revokeLinks, findLink, linkProblem } from '../../sign-in/tokens/one-time-links.ts'
import { hashPassword } from '../../sign-in/password/password-hashing.ts'
import { checkPassword } from '../../sign-in/password/password-rules.ts'
import { mailPasswordChanged } from '../../email/queue-account-emails.ts'
import { endSessionsOfUser } from '../../sign-in/sessions/sessions.ts'
import { admitPasswordReset, queuePasswordReset } from '../../sign-in/password/password-reset-requests.ts'

/** The context of a password-reset request, from an operation or a page. */
type PasswordResetContext = Omit<LinkContext, 'config'> & {
  request: LinkContext['request'] & { id: string; address: string }
}

/**
 * Queues a password-reset request. Response and timing are the same for unknown users, so they do not reveal usernames.
 * `answerPasswordReset` creates the mail later. Throws 429 after too many tries.
 */
export async function requestReset({ username }: ForgotPasswordBody, context: PasswordResetContext): Promise<void> {
  const { db, write, request } = context
  await admitPasswordReset(db, username, request.address)
  await write(async (trx) => {
    await queuePasswordReset(trx, username, request)
    // The username field may contain a mistyped password, so the audit log omits it.
    request.audit(null, { outcome: 'noted' })
  })
}

/**
 * Sets the password that the link's user chose, ends all their sessions, and notifies them by mail. Throws 422 at
 * `/token` for an invalid link, and at `/password` for a rejected password.
 */
export async function resetPassword(
  { token, password }: ResetPasswordBody,
  { db, write, config, request }: LinkContext,
): Promise<void> {
  const oneTimeLink = await findLink(db, token, 'PASSWORD_RESET')
  if (!oneTimeLink) throw linkProblem()
  checkPassword(password, oneTimeLink.user)
  const hash = await hashPassword(password)

  await write(async (trx) => {
    const user = await consumeLink(trx, token, 'PASSWORD_RESET')
    if (user === undefined) throw linkProblem()
    await sql`
      update users set password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user}`.execute(trx)
    await endSessionsOfUser(trx, user)
    await revokeLinks(trx, user)
    await mailPasswordChanged(trx, config, { id: user })
    const { uid, client } = oneTimeLink.user
    request.audit(uid, { outcome: 'password chosen by link' }, { user: uid, client })
  })
}

/**
 * Makes the invited user ACTIVE with the password that they chose, or without one for single sign-on. Opens no session;
 * the user signs in afterwards. Throws 422 at `/token` for an invalid link, and at `/password` for a rejected password.
 */
export async function acceptInvitation(
  { token, password }: AcceptInvitationBody,
  { db, write, request }: LinkContext,
): Promise<void> {
  const oneTimeLink = await findLink(db, token, 'INVITATION')
  if (!oneTimeLink) throw linkProblem()
  const hash = await hashChosenPassword(password, oneTimeLink.user)

  await write(async (trx) => {
    const user = await consumeLink(trx, token, 'INVITATION')
    if (user === undefined) throw linkProblem()
    // If the sign-in method changed since the link was read, the condition on `sso_auth` matches no row.
    const { rows } = await sql`
      update users set status = 'ACTIVE', password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user} and sso_auth = ${hash === null} returning id`.execute(trx)
    if (rows.length === 0) throw linkProblem()
    const { uid, client } = oneTimeLink.user
    request.audit(uid, { before: { status: 'INVITATION' }, after: { status: 'ACTIVE' } }, { user: uid, client })
  })
}

/**
 * Checks the password and returns its hash. Returns null for a user with single sign-on, who must not send a password.
 * Throws 422 at `/password`.
 */
async function hashChosenPassword(password: string | undefined, user: FoundLink['user']): Promise<string | null> {
  if (user.ssoAuth) {
    if (password === undefined) return null
    throw problems.refused(
      '/password',
      'You sign in with your organisation’s account, so you cannot set a password here. Accept the invitation without a password.',
    )
  }
  if (password === undefined) throw problems.refused('/password', 'Choose a password.')
  checkPassword(password, user)
  return hashPassword(password)
}

const { auth } = identityOperations

/** Operations for users without a usable password: invitations and password resets. */
export const authLinkOperations = {
  acceptInvitation: defineIdentityOperation(auth.acceptInvitation, (input) =>
    acceptInvitation(input.body, input).then(discard),
  ),
  forgotPassword: defineIdentityOperation(auth.forgotPassword, (input) =>
    requestReset(input.body, input).then(discard),
  ),
  resetPassword: defineIdentityOperation(auth.resetPassword, (input) => resetPassword(input.body, input).then(discard)),
}

/** The context for using a one-time link, from an operation or a page. */
export interface LinkContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  config: MailConfig
  request: { audit(object: string | null, details?: object, actor?: AuditActor): void }
}
