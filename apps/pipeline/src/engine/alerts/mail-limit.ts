import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/** Mails of bad news that are written within an hour for one client. Each goes to all of its addresses. */
export const mostMailsPerHour = 20

/**
 * What the limit says about one more mail of bad news. `reached`: it is left out. `leftOutUntil`: it is the last one, and has to say
 * until when others are left out, ISO 8601. Runs that end at the same moment do not wait for each other, so a few mails more than
 * the limit are possible; the one that announces the limit is always written.
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
