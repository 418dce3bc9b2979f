import { sql, type Transaction } from 'kysely'
import { holds } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import type { DB } from '../../database.ts'

/**
 * The client that something new belongs to: one's own, or for a super admin any that there is. Of others, nobody learns
 * whether they exist.
 */
export async function clientFor(trx: Transaction<DB>, caller: Caller, wanted = caller.client): Promise<string> {
  const client = wanted.toLowerCase()
  if (client === caller.client) return client
  const { rows } = holds(caller.roles, 'ROLE_SUPER_ADMIN')
    ? await sql`select from clients where uid = ${client} for key share`.execute(trx)
    : { rows: [] }
  if (rows.length === 0) throw problems.refused('/client/id', 'There is no such client.')
  return client
}
