import type { DB } from '../database.ts'
import type { Transaction } from 'kysely'
import { runTransaction } from '../runs/run-transaction.ts'
import { computeNextRunOrDisable, writePlans } from './plan-runs.ts'
import { type Schedule, scheduleOf } from './schedule.ts'
import type { SchedulerContext } from './scheduler-context.ts'
import { instantsOf, isZone, offsetAt, wallAt } from './wall-clock.ts'
import { expressionOf } from './expression.ts'
import { type NextRun, nextRun } from './next-run.ts'
import { nextTick } from './next-tick.ts'

const page = 500

/** Replans the schedules of clients that changed their time zone. Schedules that are due already start first, as planned. */
export async function followClientZones(context: SchedulerContext): Promise<void> {
  const { db, clients, logger, signal } = context
  const planned = await db
    .selectFrom('runnables')
    .select(['client', 'zone'])
    .distinct()
    .where('zone', 'is not', null)
    .where('next_run_at', 'is not', null)
    .execute()
  if (planned.length === 0) return
  const found = await clients([...new Set(planned.map(({ client }) => client))])
  for (const { client, zone: from } of planned) {
    const to = found.get(client)?.timeZone
    if (to === undefined || to === from || !isZone(to)) continue
    let moved: number
    do {
      if (signal.aborted) return
      moved = await runTransaction(db, (trx) => replan(trx, context, client, from!, to))
      if (moved > 0) logger.info({ client, from, to, count: moved }, 'schedules were replanned in the new time zone')
    } while (moved === page)
  }
}

async function replan(trx: Transaction<DB>, { clock }: SchedulerContext, client: string, from: string, to: string) {
  const now = await clock(trx)
  const rows = await trx
    .selectFrom('runnables')
    .selectAll()
    .where('client', '=', client)
    .where('zone', '=', from)
    .where('planned', '=', true)
    .where('next_run_at', '>', now)
    .orderBy('id')
    .limit(page)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  const plans = rows.map((row) => {
    const next = computeNextRunOrDisable(
      () => nextRunInNewZone(scheduleOf(row), from, to, now.getTime()),
      () => {},
    )
    return { id: row.id, zone: to, ...next }
  })
  await writePlans(trx, plans)
  return rows.length
}

/** Milliseconds to search back for the last tick. */
const maxLookBack = 40 * 86_400_000
/** Zones differ by up to 26 hours, and a day has at least 23 hours, so daily schedules always count as calendar schedules. */
const shorterThanDays = 20 * 3_600_000

/**
 * Returns the next run after a client changed its zone. Schedules that are rarer than the difference of the zones follow the
 * calendar: each day has one run, which is due at once if its time has passed in the new zone. More frequent schedules continue.
 */
export function nextRunInNewZone(schedule: Schedule, from: string, to: string, now: number): NextRun {
  const plain = nextRun(schedule, to, now)
  const expression = expressionOf(schedule)
  if (schedule.disabled || schedule.continuouslyUpdated || expression === undefined) return plain
  const apart = Math.abs(offsetAt(from, now) - offsetAt(to, now))
  const last = lastTick(expression, from, now)
  const next = nextTick(expression, from, now)
  if (last === undefined || next === undefined || next - last <= Math.min(apart, shorterThanDays)) return plain
  // In a repeated hour of the new zone, use the instant that is nearest to the last tick.
  const [sameInNew] = instantsOf(to, wallAt(from, last)).toSorted(
    (one, other) => Math.abs(one - last) - Math.abs(other - last),
  )
  const run = nextTick(expression, to, sameInNew!)
  return run === undefined ? {} : { run, full: run }
}

/** Returns the newest tick until now, if there was one within the last 40 days. */
function lastTick(expression: string, zone: string, now: number): number | undefined {
  for (let back = 3_600_000; back <= maxLookBack; back *= 2) {
    let last: number | undefined
    let tick = nextTick(expression, zone, now - back)
    for (; tick !== undefined && tick <= now; tick = nextTick(expression, zone, tick)) last = tick
    if (last !== undefined) return last
  }
  return undefined
}
