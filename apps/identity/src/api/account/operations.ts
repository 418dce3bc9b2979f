import { sql } from 'kysely'
import { type ChangeEmailBody, type ChangePasswordBody, identityOperations } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { mailEmailChanged, mailPasswordChanged } from '../../email/queue-account-emails.ts'
import { revokeLinks } from '../../sign-in/tokens/one-time-links.ts'
import { hashPassword } from '../../sign-in/password/password-hashing.ts'
import { checkPassword } from '../../sign-in/password/password-rules.ts'
import { endOtherSessions } from '../../sign-in/sessions/sessions.ts'
import { type IdentityRequestContext, defineIdentityOperation, discard } from '../operation-context.ts'
import { createApiToken, deleteApiToken, listOwnApiTokens } from './api-tokens.ts'
import { proveByPassword, proveIdentity, readOwnUser } from './prove-identity.ts'
import { confirmSetup, startSetup, readOwnFactor, removeFactor, renewRecoveryCodes } from './second-factor.ts'
import { endOwnOtherSessions, endOneSession, listOwnSessions } from './sessions.ts'

const { account } = identityOperations

export const accountOperations = {
  changePassword: defineIdentityOperation(account.changePassword, (input) =>
    changePassword(input.body, input).then(discard),
  ),
  changeEmail: defineIdentityOperation(account.changeEmail, (input) => changeEmail(input.body, input).then(discard)),

  readSecondFactor: defineIdentityOperation(account.readSecondFactor, (input) => readOwnFactor(input)),
  enrolSecondFactor: defineIdentityOperation(account.enrolSecondFactor, (input) => startSetup(input.body, input)),
  confirmSecondFactor: defineIdentityOperation(account.confirmSecondFactor, (input) => confirmSetup(input.body, input)),
  removeSecondFactor: defineIdentityOperation(account.removeSecondFactor, (input) =>
    removeFactor(input.body, input).then(discard),
  ),
  renewRecoveryCodes: defineIdentityOperation(account.renewRecoveryCodes, (input) =>
    renewRecoveryCodes(input.body, input),
  ),

  listApiTokens: defineIdentityOperation(account.listApiTokens, (input) => listOwnApiTokens(input)),
  createApiToken: defineIdentityOperation(account.createApiToken, (input) => createApiToken(input.body, input)),
  deleteApiToken: defineIdentityOperation(account.deleteApiToken, (input) =>
    deleteApiToken(input.params.uid, input).then(discard),
  ),

  listSessions: defineIdentityOperation(account.listSessions, (input) => listOwnSessions(input)),
  endSession: defineIdentityOperation(account.endSession, (input) =>
    endOneSession(input.params.uid, input).then(discard),
  ),
  endOtherSessions: defineIdentityOperation(account.endOtherSessions, (input) =>
    endOwnOtherSessions(input).then(discard),
  ),
}

/** Changes the caller's password, ends their other sessions and mails a notice. The current session continues. */
export async function changePassword(
  { currentPassword, newPassword }: ChangePasswordBody,
  input: IdentityRequestContext,
): Promise<void> {
  const { db, write, caller, config, request } = input
  const ownUser = await readOwnUser(db, caller)
  checkPassword(
    newPassword,
    { ...ownUser, clientName: ownUser.client_name, clientCode: ownUser.client_code },
    '/newPassword',
  )
  if (newPassword === currentPassword)
    throw problems.refused('/newPassword', 'The new password is the same as the current one. Choose another.')
  const lockProvenUser = await proveByPassword(currentPassword, input, '/currentPassword')
  const hash = await hashPassword(newPassword)

  await write(async (trx) => {
    const user = await lockProvenUser(trx)
    await sql`
      update users set password_hash = ${hash}, version = version + 1, updated_at = now(), updated_by = uid
      where id = ${user.id}`.execute(trx)
    const endedSessions = await endOtherSessions(trx, user.id, caller.session)
    await revokeLinks(trx, user.id)
    await mailPasswordChanged(trx, config, user)
    request.audit(caller.uid, { outcome: 'password changed', ended: endedSessions })
  })
}

/**
 * Changes the caller's e-mail address and notifies the old address. Revokes the one-time links mailed to the old
 * address.
 */
export async function changeEmail({ email, ...proof }: ChangeEmailBody, input: IdentityRequestContext): Promise<void> {
  const { db, write, caller, config, request } = input
  const user = await readOwnUser(db, caller)
  if (user.sso_auth)
    throw problems.refused(
      '/',
      'You sign in through your organisation. Ask an administrator to change your e-mail address.',
    )
  if (email === user.email) throw problems.refused('/email', 'This is already your e-mail address. Enter another one.')
  const lockProvenUser = await proveIdentity(proof, input)

  await write(async (trx) => {
    const before = await lockProvenUser(trx)
    await sql`
      update users set email = ${email}, own_email_since = now(), version = version + 1, updated_at = now(), updated_by = uid
      where id = ${before.id}`.execute(trx)
    await revokeLinks(trx, before.id)
    await mailEmailChanged(trx, config, before)
    request.audit(caller.uid, { before: { email: before.email }, after: { email } })
  })
}
