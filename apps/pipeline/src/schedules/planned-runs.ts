import { setImmediate as yieldToEvents } from 'node:timers/promises'
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { DB, Runnables } from '../database.ts'
import { type NextRun, computeNextRun } from './next-run.ts'
import { computeNextRunOrDisable } from './plan-runs.ts'
import { type Schedule, toSchedule } from './schedule.ts'
import { databaseClock } from './scheduler-context.ts'
import { isKnownZone } from './wall-clock.ts'

type ScheduledObject = Selectable<Runnables>

/** A time at which a schedule will start a run, in milliseconds. */
export interface PlannedTime {
  at: number
  isFull: boolean
}

export interface ObjectPlan extends PlannedTime {
  object: ScheduledObject
  zone: string
  /** Whether the time has passed. */
  isLate: boolean
}

export interface PlanWindow {
  client: string
  /** The query of the primary keys of the objects that the caller may see. */
  objects: RawBuilder<unknown>
  /** The start of the window in milliseconds. If undefined, the window starts now and includes runs that are late. */
  from: number | undefined
  /** The end of the window in milliseconds, exclusive. */
  to: number
  /** The last run of the previous page, by its time and the uid of its object. */
  after: { at: number; uid: string } | undefined
  limit: number
  /** The time zone of schedules that no worker has planned yet. */
  zone: string
}

/** The number of schedules per query. Between queries, other requests can run. */
const schedulesPerQuery = 1_000

/**
 * Lists planned runs by time, then by the id of their object. Several missed times of an object count as one run. Only
 * the schedules with the `limit` earliest times can contribute to a page, so later times are computed only for these.
 */
export async function listPlannedRuns(db: Kysely<DB>, window: PlanWindow): Promise<ObjectPlan[]> {
  const { limit } = window
  const now = (await databaseClock(db)).getTime()
  let earliestPlans: ObjectPlan[] = []
  let lastId = 0
  for (;;) {
    const objects = await readSchedules(db, window, lastId)
    const plans = objects.flatMap((object) => findFirstPlan(object, window, now) ?? [])
    earliestPlans = [...earliestPlans, ...plans].toSorted(byTime).slice(0, limit)
    if (objects.length < schedulesPerQuery) break
    lastId = objects.at(-1)!.id
    await yieldToEvents()
  }
  return mergePlans(earliestPlans, window, now)
}

/**
 * Reads the next page of enabled schedules that the caller may see, by id. Omits those that run next at or after `to`.
 * The next run of a schedule that is not `planned` yet is unknown, so such a schedule is included.
 */
async function readSchedules(
  db: Kysely<DB>,
  { client, objects, to }: PlanWindow,
  lastId: number,
): Promise<ScheduledObject[]> {
  const { rows } = await sql<ScheduledObject>`
    select schedule.* from runnables schedule
    where schedule.client = ${client} and schedule.id > ${lastId} and not schedule.disabled
      and (schedule.next_run_at < ${new Date(to)} or not schedule.planned)
      and (select true from (${objects}) visible where visible.id = schedule.id limit 1)
    order by schedule.id limit ${schedulesPerQuery}`.execute(db)
  return rows
}

/** Returns the first run of an object in the window that is not on a previous page. */
function findFirstPlan(object: ScheduledObject, window: PlanWindow, now: number): ObjectPlan | undefined {
  const { from = 0, after } = window
  if (after === undefined) return findNextPlan(object, window, now, from)
  // Runs with the same time are ordered by uid. If this object's uid follows that of the last run, the same time
  // belongs to this page.
  const firstTimeOnPage = object.uid > after.uid ? after.at : after.at + 1
  return findNextPlan(object, window, now, Math.max(from, firstTimeOnPage))
}

/**
 * Returns the first run of an object at `earliestTime` or later, or undefined if none starts before the end of the
 * window. Only the stored time of the next run can be in the past, because that run may be late.
 */
function findNextPlan(
  object: ScheduledObject,
  window: PlanWindow,
  now: number,
  earliestTime: number,
): ObjectPlan | undefined {
  const defaultZone = isKnownZone(window.zone) ? window.zone : 'UTC'
  const zone = object.zone ?? defaultZone
  const storedTime = readStoredTime(object)
  const isStoredTimeNext = storedTime !== undefined && storedTime.at >= earliestTime
  // `findNextTime` returns a time after the given one, so subtract a millisecond to include `earliestTime`.
  const plannedTime = isStoredTimeNext
    ? storedTime
    : findNextTime(toSchedule(object), zone, Math.max(earliestTime - 1, now))
  if (plannedTime === undefined || plannedTime.at >= window.to) return undefined
  return { ...plannedTime, object, zone, isLate: plannedTime.at < now }
}

/** Returns the time of the next run that a worker has stored. */
function readStoredTime({ planned, next_run_at, next_full_run_at }: ScheduledObject): PlannedTime | undefined {
  if (!planned || next_run_at === null) return undefined
  return { at: next_run_at.getTime(), isFull: next_full_run_at !== null && next_full_run_at <= next_run_at }
}

/**
 * Returns the next run after a time. Returns undefined if the schedule has no further run or its stored expression is
 * invalid.
 */
function findNextTime(schedule: Schedule, zone: string, after: number): PlannedTime | undefined {
  const { run, full }: NextRun = computeNextRunOrDisable(
    () => computeNextRun(schedule, zone, after),
    () => {},
  )
  return run === undefined ? undefined : { at: run, isFull: run === full }
}

/** Merges the first and all later runs of these objects by time. Returns at most `window.limit` runs. */
function mergePlans(firstPlans: readonly ObjectPlan[], window: PlanWindow, now: number): ObjectPlan[] {
  const mergedPlans: ObjectPlan[] = []
  const waitingPlans = [...firstPlans]
  while (waitingPlans.length > 0 && mergedPlans.length < window.limit) {
    const plan = waitingPlans.shift()!
    mergedPlans.push(plan)
    const nextPlan = findNextPlan(plan.object, window, now, plan.at + 1)
    if (nextPlan === undefined) continue
    const insertIndex = waitingPlans.findIndex((waitingPlan) => byTime(nextPlan, waitingPlan) < 0)
    waitingPlans.splice(insertIndex < 0 ? waitingPlans.length : insertIndex, 0, nextPlan)
  }
  return mergedPlans
}

function byTime(one: ObjectPlan, other: ObjectPlan): number {
  return one.at - other.at || (one.object.uid < other.object.uid ? -1 : 1)
}

/** Lists the next `count` runs of a schedule after a time. */
export function listNextTimes(schedule: Schedule, zone: string, after: number, count: number): PlannedTime[] {
  const times: PlannedTime[] = []
  let lastTime = after
  while (times.length < count) {
    const plannedTime = findNextTime(schedule, zone, lastTime)
    if (plannedTime === undefined) break
    times.push(plannedTime)
    lastTime = plannedTime.at
  }
  return times
}
