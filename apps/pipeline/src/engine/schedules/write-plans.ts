import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { NextRun } from './next-run.ts'

/** The next times of one thing; none: nothing starts it but a person or a workflow. */
export interface Plan extends NextRun {
  id: number
  zone: string
  /** Milliseconds; until then it is left alone, though it is due. */
  notBefore?: number
}

/** Writes what comes next of rows that the transaction holds. */
export async function writePlans(trx: Transaction<DB>, plans: readonly Plan[]): Promise<void> {
  if (plans.length === 0) return
  const rows = plans.map(({ id, zone, run, full, notBefore }) => {
    return { id, zone, run: moment(run), full: moment(full), not_before: moment(notBefore) }
  })
  await sql`
    update runnables r
    set planned = true, zone = p.zone, next_run_at = p.run, next_full_run_at = p.full, not_before = p.not_before
    from json_to_recordset(${JSON.stringify(rows)})
           as p (id bigint, zone text, run timestamptz, "full" timestamptz, not_before timestamptz)
    where r.id = p.id
  `.execute(trx)
}

const moment = (milliseconds: number | undefined) =>
  milliseconds === undefined ? undefined : new Date(milliseconds).toISOString()
