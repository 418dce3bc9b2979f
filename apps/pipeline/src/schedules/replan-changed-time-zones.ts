import type { DB } from '../database.ts'
import type { Transaction } from 'kysely'
import { runTransaction } from '../runs/run-transaction.ts'
import { computeNextRunOrDisable, writePlans } from './plan-runs.ts'
import { type Schedule, toSchedule } from './schedule.ts'
import type { SchedulerContext } from './scheduler-context.ts'
import { listInstants, isKnownZone, getUtcOffset, toWallClockTime } from './wall-clock.ts'
import { toCronExpression } from './schedule-to-cron.ts'
import { type NextRun, computeNextRun } from './next-run.ts'
import { findNextTick } from './next-cron-tick.ts'

const pageSize = 500

/**
 * Replans the schedules of organisations that changed their time zone. A schedule with a run that is already due is
 * replanned after that run has started.
 */
export async function replanChangedZones(context: SchedulerContext): Promise<void> {
  const { db, clients, logger, signal } = context
  const zonesInUse = await db
    .selectFrom('runnables')
    .select(['client', 'zone'])
    .distinct()
    .where('zone', 'is not', null)
    .where('next_run_at', 'is not', null)
    .execute()
  if (zonesInUse.length === 0) return
  const currentClients = await clients([...new Set(zonesInUse.map(({ client }) => client))])
  for (const { client, zone: oldZone } of zonesInUse) {
    const newZone = currentClients.get(client)?.timeZone
    const hasChanged = newZone !== undefined && newZone !== oldZone && isKnownZone(newZone)
    if (!hasChanged) continue
    for (let hasMore = true; hasMore; ) {
      if (signal.aborted) return
      const count = await runTransaction(db, (trx) => replanPage(trx, context, client, oldZone!, newZone))
      if (count > 0)
        logger.info({ client, from: oldZone, to: newZone, count }, 'schedules were replanned in the new time zone')
      hasMore = count === pageSize
    }
  }
}

/**
 * Replans at most `pageSize` schedules that are not due and that other transactions have not locked. Returns the
 * number of replanned schedules.
 */
async function replanPage(
  trx: Transaction<DB>,
  { clock }: SchedulerContext,
  client: string,
  oldZone: string,
  newZone: string,
) {
  const now = await clock(trx)
  const rows = await trx
    .selectFrom('runnables')
    .selectAll()
    .where('client', '=', client)
    .where('zone', '=', oldZone)
    .where('planned', '=', true)
    .where('next_run_at', '>', now)
    .orderBy('id')
    .limit(pageSize)
    .forNoKeyUpdate()
    .skipLocked()
    .execute()
  const plans = rows.map((row) => {
    const next = computeNextRunOrDisable(
      () => computeNextRunInNewZone(toSchedule(row), oldZone, newZone, now.getTime()),
      () => {},
    )
    return { id: row.id, zone: newZone, ...next }
  })
  await writePlans(trx, plans)
  return rows.length
}

/** The search for the last tick goes back at most this many milliseconds. */
const maxLookBack = 40 * 86_400_000
/**
 * Limits the zone difference, in milliseconds. Zones can differ by 26 hours, and with a difference of a day or more, a
 * daily schedule would not follow the calendar of the new zone.
 */
const maxZoneDifference = 20 * 3_600_000

/**
 * Returns the next run after an organisation changed its time zone. A daily or rarer schedule neither repeats nor omits
 * a day: its next tick is the one that follows the local time of the last tick in the calendar of the new zone. That
 * tick may be in the past; its run is then due at once. Returns the first tick after `now` in the new zone if two ticks
 * are at most as far apart as the zones differ, and for continuous, disabled and manual schedules.
 */
export function computeNextRunInNewZone(schedule: Schedule, oldZone: string, newZone: string, now: number): NextRun {
  const firstAfterNow = computeNextRun(schedule, newZone, now)
  const expression = toCronExpression(schedule)
  if (schedule.disabled || schedule.continuouslyUpdated || expression === undefined) return firstAfterNow
  const lastTick = findLastTick(expression, oldZone, now)
  const nextTickInOldZone = findNextTick(expression, oldZone, now)
  if (lastTick === undefined || nextTickInOldZone === undefined) return firstAfterNow
  const zoneDifference = Math.abs(getUtcOffset(oldZone, now) - getUtcOffset(newZone, now))
  const isTickFrequent = nextTickInOldZone - lastTick <= Math.min(zoneDifference, maxZoneDifference)
  if (isTickFrequent) return firstAfterNow
  const localTimeOfLastTick = toWallClockTime(oldZone, lastTick)
  // The local time may occur twice in the new zone. Then choose the instant nearer to the last tick.
  const [sameLocalTime] = listInstants(newZone, localTimeOfLastTick).toSorted(
    (one, other) => Math.abs(one - lastTick) - Math.abs(other - lastTick),
  )
  const nextTick = findNextTick(expression, newZone, sameLocalTime!)
  return nextTick === undefined ? {} : { run: nextTick, full: nextTick }
}

/** Returns the last tick at or before `now`; undefined if none occurred in the last 40 days. */
function findLastTick(expression: string, zone: string, now: number): number | undefined {
  for (let lookBackMs = 3_600_000; lookBackMs <= maxLookBack; lookBackMs *= 2) {
    let latestTick: number | undefined
    let tick = findNextTick(expression, zone, now - lookBackMs)
    for (; tick !== undefined && tick <= now; tick = findNextTick(expression, zone, tick)) latestTick = tick
    if (latestTick !== undefined) return latestTick
  }
  return undefined
}
