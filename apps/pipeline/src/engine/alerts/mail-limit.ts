import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/** Maximum number of failure and warning mails per client and hour. Each mail goes to all addresses of the client. */
export const mostMailsPerHour = 20

/**
 * Applies the limit to one more failure or warning mail. `reached`: do not write the mail. `leftOutUntil`: it is the last mail before
 * the limit, and must say until when further mails are suppressed, ISO 8601. Concurrent run ends take no lock, so a few more mails
 * than the limit are possible. The mail that announces the limit is always written.
 */
export async function mailLimit(
  trx: Transaction<DB>,
  client: string,
): Promise<{ reached: boolean; leftOutUntil?: string }> {
  const { rows } = await sql<{ mails: number; announced: boolean; ends: Date }>`
    select count(distinct (runnable_id, created_at))::int as mails,
      coalesce(bool_or(content ->> 'leftOutUntil' is not null), false) as announced, now() + interval '1 hour' as ends
    from alerts
    where client = ${client} and channel = 'MAIL' and event <> 'RECOVERED'
      and created_at > now() - interval '1 hour' and created_at <= now()`.execute(trx)
  const { mails, announced, ends } = rows[0]!
  if (announced) return { reached: true }
  return mails < mostMailsPerHour - 1 ? { reached: false } : { reached: false, leftOutUntil: ends.toISOString() }
}
