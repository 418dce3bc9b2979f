import { sql, type Transaction } from 'kysely'
import { roles, type Role } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import type { DB } from '../../database.ts'
import { rolesLacked } from '../roles-lacked.ts'
import type { SsoProviderConfigRow } from './records.ts'

type Columns = Pick<SsoProviderConfigRow, 'provider' | 'client_domain' | 'client_id' | 'mapping_claim'>

/** Does a change say who signs in as whom? */
export const rulesOverUsers = (before: SsoProviderConfigRow, after: Columns): boolean =>
  (['provider', 'client_domain', 'client_id', 'mapping_claim'] as const).some((name) => before[name] !== after[name])

/**
 * Who chooses the provider of a client can be everybody who signs in there. So nobody does who lacks a role that one of them
 * holds.
 */
export async function demandPowerOverUsers(trx: Transaction<DB>, caller: Caller, client: string): Promise<void> {
  const lacked = rolesLacked(caller, roles)
  if (lacked.length === 0) return
  // One user is enough: whoever looks at all of a large client holds its lock for seconds.
  const { rows } = await sql<{ roles: Role[] }>`
    select roles from users where client = ${client} and sso_auth and roles && ${lacked} limit 1`.execute(trx)
  const [found] = rows
  if (found)
    throw problems.forbidden(
      `Users who sign in through this provider hold what you do not: ${found.roles.filter((role) => lacked.includes(role)).join(', ')}. Somebody who holds it can do this.`,
    )
}
