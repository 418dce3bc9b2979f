import { sql, type Transaction } from 'kysely'
import { isStill, problems, type Caller } from '@sluice/http'
import type { DB } from '../database.ts'
import { standingOf } from './standing.ts'

/**
 * Locks the caller's user, or their application, until the transaction ends, and looks again who they are: whoever was shut
 * out, demoted or signed out since the request came writes nothing more, and what would do that to them now waits. 401.
 */
export async function demandStill(trx: Transaction<DB>, caller: Caller): Promise<void> {
  if (!caller.given) return
  const table = sql.table(caller.kind === 'application' ? 'sso_client_configs' : 'users')
  await sql`select from ${table} where uid = ${caller.uid} for no key update`.execute(trx)
  if (!isStill(caller, await standingOf(trx, caller.given.credential)))
    throw problems.unauthenticated('You were signed out, or may do less than a moment ago: sign in again.')
}
