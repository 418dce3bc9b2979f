import { sql } from 'kysely'
import { holds } from '@sluice/contracts'
import type { Asked } from '../operation.ts'

/** Whose rows a report tells of, in words. */
export async function scopeName({ db, caller }: Asked): Promise<string> {
  if (holds(caller.roles, 'ROLE_SUPER_ADMIN')) return 'All clients'
  const { rows } = await sql<{ name: string }>`select name from clients where uid = ${caller.client}`.execute(db)
  return rows[0]?.name ?? ''
}
