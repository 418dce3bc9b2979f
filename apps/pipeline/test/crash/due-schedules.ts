import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { scheduled, type Scheduled } from '../worker/schedule-fixtures.ts'
import type { Stack } from '../worker/worker-stack.ts'

/** One client's objects with a daily schedule, planned for the next midnight. They load no rows. */
export async function midnightly(stack: Stack, many: number): Promise<Scheduled[]> {
  const client = randomUUID()
  const things: Scheduled[] = []
  for (let each = 0; each < many; each += 1)
    things.push(await scheduled(stack, { run_trigger: 'EVERY_DAY_0AM' }, client))
  const midnight = sql<Date>`date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day'`
  await stack.db
    .updateTable('runnables')
    .set({ planned: true, zone: 'UTC', next_run_at: midnight, next_full_run_at: midnight })
    .where('client', '=', client)
    .execute()
  return things
}

/** Makes the midnight before now due for those of them that are not due; answers which. */
export async function comeDue({ db }: Stack, things: readonly Scheduled[], days = 0): Promise<number[]> {
  const rows = await db
    .updateTable('runnables')
    .set({
      next_run_at: sql<Date>`date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - make_interval(days => ${days})`,
    })
    .where(
      'id',
      'in',
      things.map(({ id }) => id),
    )
    .where('next_run_at', '>', sql<Date>`now()`)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** How many of them are due or not planned. */
export async function waiting({ db }: Stack, things: readonly Scheduled[]): Promise<number> {
  const { count } = await db
    .selectFrom('runnables')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(
      'id',
      'in',
      things.map(({ id }) => id),
    )
    .where(sql<boolean>`not planned or next_run_at <= now()`)
    .executeTakeFirstOrThrow()
  return count
}

/** What became of the ticks of each: runs, and lines that say that a tick is left out because one was under way. */
export async function outcomes({ db }: Stack, things: readonly Scheduled[]) {
  const ids = things.map(({ id }) => id)
  const { rows } = await sql<{ id: number; runs: number; left_out: number }>`
    select s.id,
      (select count(*) from runs r where r.runnable_id = s.id and r.trigger = 'SCHEDULE' and r.scheduled_for is not null) as runs,
      (select count(*) from run_logs l
       where l.runnable_id = s.id and l.message like 'The run that was due at % skipped, because this run had not ended yet.') as left_out
    from runnables s where s.id = any(${ids}) order by s.id`.execute(db)
  return rows
}

/** Runs that wait for a worker without the job that would bring them to one. */
export async function withoutJob({ db }: Stack, things: readonly Scheduled[]): Promise<number> {
  const ids = things.map(({ id }) => id)
  const { rows } = await sql`
    select from runs r where r.runnable_id = any(${ids}) and r.state = 'QUEUED'
      and not exists (select from pgboss.job j where j.data ->> 'run' = r.uid::text and j.state < 'completed')`.execute(
    db,
  )
  return rows.length
}
