import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { prefixOf } from '../addresses.ts'
import { counted, demandNoWait, type Limit } from '../throttle.ts'

/** Whoever comes back makes us ask a provider, so a network that never succeeds is slowed down. */
const perNetwork: Limit = { free: 100, first: 30, longest: 900, forget: 3600 }

/** Counts a way back as a failure before the provider is asked; answers what takes it back. Throws 429. */
export async function admitWayBack(db: Kysely<DB>, address: string): Promise<string> {
  const key = `sso:${prefixOf(address)}`
  const { rows } = await sql<{
    key: string
    seconds: number
  }>`${counted(sql`select ${key}::text`, perNetwork)}`.execute(db)
  demandNoWait(rows)
  return key
}

export async function wayBackSucceeded(trx: Kysely<DB>, key: string): Promise<void> {
  await sql`update sign_in_attempts set failures = greatest(failures - 1, 0) where key = ${key}`.execute(trx)
}
