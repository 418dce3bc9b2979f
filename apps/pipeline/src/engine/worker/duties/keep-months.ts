import type { Kysely } from 'kysely'
import { addAuditMonths, addMonths, dropMonths } from '@sluice/database'
import type { DB } from '../../../database.ts'
import type { Duty } from '../janitor.ts'

interface Options {
  db: Kysely<DB>
  /** Days that log lines are kept. */
  days: number
  now?: () => Date
}

const logs = { table: 'run_logs', column: 'created_at' }

/** Gives the months of the audit and of the runs' logs their partitions before they come, and drops those of logs that are over. */
export function keepMonths({ db, days, now = () => new Date() }: Options): Duty {
  return {
    name: 'months',
    async run() {
      const at = now()
      const made = (await addAuditMonths(db, at)) + (await addMonths(db, logs, at))
      return made + (await dropMonths(db, logs, new Date(at.getTime() - days * 86_400_000)))
    },
  }
}
