import { sql, type Transaction } from 'kysely'
import { holds, type Role } from '@sluice/contracts'
import { problems } from '@sluice/http'
import type { DB } from '../../database.ts'
import type { UserRow } from './row.ts'

type SignsIn = Pick<UserRow, 'client' | 'sso_auth' | 'roles'>

/**
 * Whoever chose the provider of a client can be everybody who signs in there. So nobody gets a role there that whoever saved
 * the provider's config last does not hold now; who is deleted or shut out holds none. Asked of what was
 * changed already; both the config and its absence stay until the transaction ends.
 */
export async function assertProviderTrusted(
  trx: Transaction<DB>,
  after: SignsIn,
  before: Omit<SignsIn, 'client'> = { sso_auth: false, roles: [] },
): Promise<void> {
  const gained = after.sso_auth ? after.roles.filter((role) => !before.sso_auth || !before.roles.includes(role)) : []
  if (gained.length === 0) return
  const held = await rolesOfChooser(trx, after.client)
  const lacked = held ? gained.filter((role) => !holds(held, role)) : []
  if (lacked.length > 0)
    throw problems.refused(
      before.sso_auth || before.roles.length === 0 ? '/auths' : '/ssoAuth',
      `Whoever saved this client’s SSO provider config last does not hold ${lacked.join(', ')}, and could sign in as this user: have somebody who does check that config and save it anew.`,
    )
}

/** Undefined: the client has no provider. */
async function rolesOfChooser(trx: Transaction<DB>, client: string): Promise<Role[] | undefined> {
  const chosen = () =>
    sql<{ roles: Role[] }>`
      select coalesce((select u.roles from users u where u.uid = p.updated_by and u.status = 'ACTIVE'), '{}') as roles
      from sso_provider_configs p where p.client = ${client} for share of p`.execute(trx)
  const { rows } = await chosen()
  if (rows[0]) return rows[0].roles
  // Whoever makes one locks the client too, and sees this user, or is seen here.
  await sql`select from clients where uid = ${client} for share`.execute(trx)
  return (await chosen()).rows[0]?.roles
}
