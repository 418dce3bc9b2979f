import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'

/** What no browser can come back with any more. */
export async function forgetSsoSignIns(trx: Kysely<DB>): Promise<void> {
  await sql`delete from sso_used_states where expires_at < now() - interval '1 hour'`.execute(trx)
  await sql`delete from sso_tickets where expires_at < now()`.execute(trx)
}
