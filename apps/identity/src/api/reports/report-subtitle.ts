import { hasRole } from '@sluice/contracts'
import { sql } from 'kysely'
import type { IdentityRequestContext } from '../operation-context.ts'

/** Returns the subtitle of a report: the name of the caller's organisation, or `All clients` for a super admin. */
export async function readScopeName({ db, caller }: IdentityRequestContext): Promise<string> {
  if (hasRole(caller.roles, 'ROLE_SUPER_ADMIN')) return 'All clients'
  const { rows } = await sql<{ name: string }>`select name from clients where uid = ${caller.client}`.execute(db)
  return rows[0]?.name ?? ''
}
