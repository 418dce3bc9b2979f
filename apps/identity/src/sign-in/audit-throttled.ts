import { sql, type Kysely } from 'kysely'
import type { AuditActor } from '@sluice/http-server'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../database.ts'
import { ThrottledProblem } from './throttle.ts'

interface AuditContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  request: { audit(object: string | null, details?: object, by?: AuditActor): void }
}

/** Finds the owner of the throttled account; called only before an audit row is written. Undefined if no account exists. */
type FindAccountOwner = () => Promise<{ uid: string; client: string } | undefined>

/**
 * Writes an audit row when a try is throttled, at most once a minute per throttle key. The audit log thus shows repeated
 * guessing, and an attacker cannot fill the table.
 */
export async function auditThrottled<T>(
  admitting: Promise<T>,
  { db, write, request }: AuditContext,
  whose: FindAccountOwner,
): Promise<T> {
  try {
    return await admitting
  } catch (error) {
    if (error instanceof ThrottledProblem && (await isFirstThisMinute(db, error.key))) {
      const account = await whose()
      const details = { outcome: 'too many tries', of: error.key.split(':')[0] }
      await write(async () =>
        request.audit(account?.uid ?? null, details, account && { user: account.uid, client: account.client }),
      )
    }
    throw error
  }
}

/**
 * Returns true for exactly one of any number of concurrent calls per minute. The row is in the table of the counted tries,
 * and maintenance removes it with them.
 */
async function isFirstThisMinute(db: Kysely<DB>, key: string): Promise<boolean> {
  const { rows } = await sql`
    insert into sign_in_attempts as a (key, failures, last_at, blocked_until)
    values (${`noted ${key}`}, 0, now(), '-infinity')
    on conflict (key) do update set last_at = now() where a.last_at <= now() - interval '1 minute'
    returning true`.execute(db)
  return rows.length > 0
}
