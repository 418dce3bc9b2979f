import { type Selectable, sql, type Transaction } from 'kysely'
import type { DB, Runnables, Runs } from '../../database.ts'
import type { Due } from './ticks-due.ts'

/** As many lines as a run's log has at most. */
const mostLines = 10_000

/** A line in the log of a run, in the scheduler's transaction. */
export async function tellRun(trx: Transaction<DB>, run: Selectable<Runs>, message: string): Promise<void> {
  await sql`
    insert into run_logs (run_id, runnable_id, level, importance, message)
    select ${run.id}, ${run.runnable_id}, 'WARN', 'MEDIUM', ${message}
    where (select count(*) from run_logs where run_id = ${run.id}) < ${mostLines}
  `.execute(trx)
}

/** The same at level INFO in the log of the last run, if there was one: for a tick that begins none. */
export async function tellLastRun(trx: Transaction<DB>, runnable: number, message: string): Promise<void> {
  await sql`
    insert into run_logs (run_id, runnable_id, level, importance, message)
    select r.id, r.runnable_id, 'INFO', 'LOW', ${message}
    from (select id, runnable_id from runs where runnable_id = ${runnable} order by id desc limit 1) r
    where (select count(*) from run_logs where run_id = r.id) < ${mostLines}
  `.execute(trx)
}

/** For the last run of an uploaded file. */
export const nothingNew = ({ tick }: Due, zone: string): string =>
  `The run that was due at ${said(tick, zone)} is skipped: file, options and variables are those of the last load.`

/** For the run that is still under way. */
export function leftOut({ tick, missed, more }: Due, zone: string): string {
  const others = missed > 0 ? ` and ${count(missed, more)} before it are` : ' is'
  return `The run that was due at ${said(tick, zone)}${others} left out: this one was still under way.`
}

/** For the run that stands for more than its own tick. */
export function standsFor({ tick, missed, more }: Due, row: Selectable<Runnables>, zone: string): string {
  const why = row.not_before === null ? 'no worker was there to start them' : 'they could not be started in time'
  return `This run is the one that was due at ${said(tick, zone)}, and stands for ${count(missed, more)} more, from ${said(row.next_run_at!.getTime(), zone)} on, that ${missed === 1 ? 'is' : 'are'} left out: ${why}.`
}

const count = (missed: number, more: boolean) => `${more ? 'over ' : ''}${missed.toLocaleString('en')}`

/** As clocks in the zone show it: 2026-03-29 03:30 (Europe/Oslo). */
function said(moment: number, zone: string): string {
  const style = { dateStyle: 'short', timeStyle: 'short', timeZone: zone } as const
  // Sweden writes the year first, then the month.
  return `${new Date(moment).toLocaleString('sv', style)} (${zone})`
}
