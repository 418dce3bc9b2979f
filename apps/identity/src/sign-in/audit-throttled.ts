import { sql, type Kysely } from 'kysely'
import type { AuditActor } from '@sluice/http'
import type { AuditedWrite } from '@sluice/records'
import type { DB } from '../database.ts'
import { ThrottledProblem } from './throttle.ts'

interface AuditContext {
  db: Kysely<DB>
  write: AuditedWrite<DB>
  request: { audit(object: string | null, details?: object, by?: AuditActor): void }
}

/** Whose account it is, asked only when it is to be written down. Undefined: nobody's. */
type FindAccountOwner = () => Promise<{ uid: string; client: string } | undefined>

/**
 * Leaves a row in the audit when a try has to wait, at most one a minute for what it is counted under: whoever goes on
 * guessing is seen, and cannot fill the table with it.
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

/** Kept beside what is counted, and cleared away with it. Of any number at once exactly one is the first. */
async function isFirstThisMinute(db: Kysely<DB>, key: string): Promise<boolean> {
  const { rows } = await sql`
    insert into sign_in_attempts as a (key, failures, last_at, blocked_until)
    values (${`noted ${key}`}, 0, now(), '-infinity')
    on conflict (key) do update set last_at = now() where a.last_at <= now() - interval '1 minute'
    returning true`.execute(db)
  return rows.length > 0
}
