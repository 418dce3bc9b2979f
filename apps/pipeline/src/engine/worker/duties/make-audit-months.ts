import type { Kysely } from 'kysely'
import { addAuditMonths } from '@sluice/database'
import type { DB } from '../../../database.ts'
import type { Duty } from '../janitor.ts'

/** Gives the months of the audit their partitions before they come. */
export function makeAuditMonths({ db, now = () => new Date() }: { db: Kysely<DB>; now?: () => Date }): Duty {
  return { name: 'audit months', run: () => addAuditMonths(db, now()) }
}
