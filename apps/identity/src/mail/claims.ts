import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'

/** A mail that this process is to send now. */
export interface Claimed {
  id: number
  uid: string
  recipient: string
  subject: string
  body: string
  attempts: number
  created_at: Date
  /** It is of no use any more: give it up. */
  overdue: boolean
}

/** Minutes after which a mail that another process took is taken for lost with that process. Longer than any try. */
const lease = 5

/**
 * Takes up to `most` mails that are due, for nobody else to take meanwhile. Where the process ends before it says how it
 * went, they come up again: a mail may be sent twice, and is never forgotten.
 */
export async function claimMails(db: Kysely<DB>, most: number): Promise<Claimed[]> {
  const { rows } = await sql<Claimed>`
    update mails m set attempts = attempts + 1, next_try_at = now() + make_interval(mins => ${lease})
    where id in (
      select id from mails where state = 'QUEUED' and next_try_at <= now()
      order by next_try_at, id limit ${most} for update skip locked
    )
    returning id, uid, recipient, subject, body, attempts, created_at, expires_at <= now() as overdue`.execute(db)
  return rows
}

/** It was handed over. What it said is not needed any more. */
export async function markSent(db: Kysely<DB>, { id }: Claimed): Promise<void> {
  await sql`
    update mails set state = 'SENT', body = null, reason = null, finished_at = now()
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/** It is never tried again. */
export async function markFailed(db: Kysely<DB>, { id }: Claimed, reason: string | undefined): Promise<void> {
  await sql`
    update mails set state = 'FAILED', body = null, finished_at = now(), reason = coalesce(${reason ?? null}, 'Given up. At the last try: ' || reason, 'Given up: it could not be tried in time.')
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/** It is tried again after 30 seconds, then twice as long each time, up to an hour; some earlier than others. */
export async function markDelayed(db: Kysely<DB>, { id, attempts }: Claimed, reason: string): Promise<void> {
  const seconds = Math.min(3600, 30 * 2 ** (attempts - 1)) * (0.75 + Math.random() / 4)
  await sql`
    update mails set next_try_at = now() + make_interval(secs => ${seconds}), reason = ${reason}
    where id = ${id} and state = 'QUEUED'`.execute(db)
}

/** This process stops before it could send it: another may at once, and it was no try. */
export async function giveBack(db: Kysely<DB>, { id }: Claimed): Promise<void> {
  await sql`
    update mails set next_try_at = now(), attempts = attempts - 1 where id = ${id} and state = 'QUEUED'`.execute(db)
}
