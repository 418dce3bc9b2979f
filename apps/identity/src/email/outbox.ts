import { randomUUID } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { MailKind } from '@sluice/contracts'
import { type EmailContent, renderEmail, type RenderedEmail } from '@sluice/mail'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'

export type MailConfig = Pick<Config, 'SECRET_KEYS' | 'SMTP_URL' | 'IDENTITY_PUBLIC_URL'>

/** Returns the purpose string that binds the encrypted body to this mail (see `KeyRing`). */
const mailPurpose = (uid: string) => `mails.body:${uid}`

interface NewMail {
  kind: MailKind
  to: { id: number; client: string; email: string }
  content: EmailContent
  /** The expiry of the mail, at most 24 hours from now. Default: 24 hours. */
  expires?: Date
}

/**
 * Adds a mail to the outbox in the transaction of the change that the mail reports, so that it is sent only if the
 * change is committed. If no SMTP server is configured, the mail stays in the outbox, where administrators can read it.
 * A mail with a link cancels unsent mails of the same kind to this user.
 */
export async function queueMail(
  trx: Kysely<DB>,
  { SECRET_KEYS, SMTP_URL }: MailConfig,
  { kind, to, content, expires }: NewMail,
): Promise<void> {
  if (content.link) await failOlderMails(trx, to.id, kind)
  const uid = randomUUID()
  const body = SECRET_KEYS.seal(JSON.stringify(renderEmail(content)), mailPurpose(uid))
  const state = SMTP_URL ? 'QUEUED' : 'KEPT'
  // LEAST ignores null, so a mail without an expiry gets 24 hours.
  const expiresAt = sql`least(${expires ?? null}::timestamptz, now() + interval '24 hours')`
  await sql`
    insert into mails (uid, client, user_id, kind, recipient, subject, body, state, expires_at)
    values (${uid}, ${to.client}, ${to.id}, ${kind}, ${to.email}, ${content.subject}, ${body}, ${state},
      ${expiresAt})`.execute(trx)
}

async function failOlderMails(trx: Kysely<DB>, user: number, kind: MailKind): Promise<void> {
  await sql`
    update mails set state = 'FAILED', body = null, finished_at = now(), reason = 'A newer mail replaced it.'
    where user_id = ${user} and kind = ${kind} and state in ('QUEUED', 'KEPT')`.execute(trx)
}

export const openMailBody = (
  { SECRET_KEYS }: Pick<MailConfig, 'SECRET_KEYS'>,
  uid: string,
  sealed: string,
): RenderedEmail => JSON.parse(SECRET_KEYS.open(sealed, mailPurpose(uid))) as RenderedEmail

/** Marks up to `limit` overdue mails as failed, also if no process sends mails. Returns their number. */
export async function failOverdueMails(db: Kysely<DB>, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update mails set state = 'FAILED', body = null, finished_at = now(),
      reason = coalesce('Gave up. Last error: ' || reason, 'Gave up: no process picked it up in time.')
    where id in (
      select id from mails where state = 'QUEUED' and expires_at < now() - interval '15 minutes'
      limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows ?? 0)
}
