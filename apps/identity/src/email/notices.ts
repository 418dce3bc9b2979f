import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { NewLink } from '../sign-in/tokens/one-time-links.ts'
import { queueMail, type MailConfig } from './outbox.ts'
import { letters } from './texts.ts'

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
    select u.id, u.client, c.name as "clientName", u.name, u.username, u.email, u.sso_auth as "ssoAuth"
    from users u join clients c on c.uid = u.client where u.id = ${user}`.execute(trx)
  return rows[0]!
}

/** Mails a user the link to accept their invitation. Runs in the transaction that created the link. */
export async function mailInvitation(
  trx: Kysely<DB>,
  config: MailConfig,
  { id }: { id: number },
  link: NewLink,
): Promise<void> {
  const to = await readRecipient(trx, id)
  await queueMail(trx, config, { kind: 'INVITATION', to, letter: letters.invitation(to, link), expires: link.expires })
}

/** Mails a user the link to choose a new password. Runs in the transaction that created the link. */
export async function mailPasswordReset(
  trx: Kysely<DB>,
  config: MailConfig,
  { id }: { id: number },
  link: NewLink,
): Promise<void> {
  const to = await readRecipient(trx, id)
  const letter = letters.passwordReset(to, link)
  await queueMail(trx, config, { kind: 'PASSWORD_RESET', to, letter, expires: link.expires })
}

/** Notifies a user that their password was changed. */
export async function mailPasswordChanged(trx: Kysely<DB>, config: MailConfig, { id }: { id: number }): Promise<void> {
  const to = await readRecipient(trx, id)
  await queueMail(trx, config, { kind: 'PASSWORD_CHANGED', to, letter: letters.passwordChanged(to, new Date()) })
}

/** Notifies the previous address of a user. */
export async function mailEmailChanged(
  trx: Kysely<DB>,
  config: MailConfig,
  { id, email }: { id: number; email: string },
): Promise<void> {
  const to = { ...(await readRecipient(trx, id)), email }
  await queueMail(trx, config, { kind: 'EMAIL_CHANGED', to, letter: letters.emailChanged(to, new Date()) })
}

/** Notifies a user that their second factor was set up or removed. */
export async function mailSecondFactorChanged(
  trx: Kysely<DB>,
  config: MailConfig,
  { id }: { id: number },
  change: 'set up' | 'removed',
): Promise<void> {
  const to = await readRecipient(trx, id)
  const letter = letters.secondFactorChanged(to, change, new Date())
  await queueMail(trx, config, { kind: 'SECOND_FACTOR_CHANGED', to, letter })
}

/** Notifies a user that a recovery code was used, and how many are left. Runs in the transaction that used it. */
export async function mailRecoveryCodeUsed(
  trx: Kysely<DB>,
  config: MailConfig,
  { id, left }: { id: number; left: number },
): Promise<void> {
  const to = await readRecipient(trx, id)
  const letter = letters.recoveryCodeUsed(to, left, new Date())
  await queueMail(trx, config, { kind: 'SECOND_FACTOR_CHANGED', to, letter })
}
