import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { PlannedTable } from '../warehouses/load-target.ts'
import type { Claim } from './claim.ts'

/** Keeps the plan of a dry run with the run, unless it is no longer this attempt's. */
export async function keepPlan(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  tables: readonly PlannedTable[],
): Promise<void> {
  // jsonb knows no NUL.
  const plan = JSON.stringify(tables).toWellFormed().replaceAll('\\u0000', '')
  await sql`update runs set planned_tables = ${plan}::jsonb
    where id = ${id} and attempt = ${attempt} and state = 'RUNNING'`.execute(db)
}
