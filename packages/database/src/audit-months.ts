import type { Kysely } from 'kysely'
import { addMonths } from './month-partitions.ts'

/** The partitions that a service's `audit` is about to need. */
export function addAuditMonths(db: Kysely<any>, now: Date): Promise<number> {
  return addMonths(db, { table: 'audit', column: 'at' }, now)
}
