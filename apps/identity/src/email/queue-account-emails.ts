import { sql, type Kysely } from 'kysely'
import type { MailKind } from '@sluice/contracts'
import type { EmailContent } from '@sluice/mail'
import type { DB } from '../database.ts'
import type { NewLink } from '../sign-in/tokens/one-time-links.ts'
import { queueMail, type MailConfig } from './outbox.ts'
import { emailTexts } from './texts.ts'

interface MailRecipientRow {
  id: number
  client: string
  clientName: string
  name: string
  username: string
  email: string
  ssoAuth: boolean
}

async function readRecipient(trx: Kysely<DB>, user: number): Promise<MailRecipientRow> {
  const { rows } = await sql<MailRecipientRow>`
    select users.id, users.client, users.name, users.username, users.email, users.sso_auth as "ssoAuth",
      clients.name as "clientName"
    from users join clients on clients.uid = users.client where users.id = ${user}`.execute(trx)
  return rows[0]!
}

/** Renders a mail for a user and queues it in the transaction of the change that the mail reports. */
async function mailUser(
  trx: Kysely<DB>,
  config: MailConfig,
  user: { id: number },
  kind: MailKind,
  renderContent: (to: MailRecipientRow) => EmailContent,
  expires?: Date,
): Promise<void> {
  const to = await readRecipient(trx, user.id)
  await queueMail(trx, config, { kind, to, content: renderContent(to), ...(expires && { expires }) })
}

export const mailInvitation = (trx: Kysely<DB>, config: MailConfig, user: { id: number }, link: NewLink) =>
  mailUser(trx, config, user, 'INVITATION', (to) => emailTexts.invitation(to, link), link.expires)

export const mailPasswordReset = (trx: Kysely<DB>, config: MailConfig, user: { id: number }, link: NewLink) =>
  mailUser(trx, config, user, 'PASSWORD_RESET', (to) => emailTexts.passwordReset(to, link), link.expires)

export const mailPasswordChanged = (trx: Kysely<DB>, config: MailConfig, user: { id: number }) =>
  mailUser(trx, config, user, 'PASSWORD_CHANGED', (to) => emailTexts.passwordChanged(to, new Date()))

/** Notifies the previous address of a user that the e-mail address changed. */
export async function mailEmailChanged(
  trx: Kysely<DB>,
  config: MailConfig,
  { id, email }: { id: number; email: string },
): Promise<void> {
  const to = { ...(await readRecipient(trx, id)), email }
  await queueMail(trx, config, { kind: 'EMAIL_CHANGED', to, content: emailTexts.emailChanged(to, new Date()) })
}

export const mailSecondFactorChanged = (
  trx: Kysely<DB>,
  config: MailConfig,
  user: { id: number },
  change: 'set up' | 'removed',
) =>
  mailUser(trx, config, user, 'SECOND_FACTOR_CHANGED', (to) => emailTexts.secondFactorChanged(to, change, new Date()))

/** Notifies a user that a recovery code was used, with the number of unused codes. */
export const mailRecoveryCodeUsed = (trx: Kysely<DB>, config: MailConfig, { id, left }: { id: number; left: number }) =>
  mailUser(trx, config, { id }, 'SECOND_FACTOR_CHANGED', (to) => emailTexts.recoveryCodeUsed(to, left, new Date()))
