import { nextRun } from './next-run.ts'
import type { Schedule } from './schedule.ts'

/** What has come due, from the tick that was planned until now: one run does for all of it. */
export interface Due {
  /** The newest tick, which the run stands for, in milliseconds. */
  tick: number
  /** The ticks before it that no run stands for. */
  missed: number
  /** There were more missed ones than are counted. */
  more: boolean
}

/** Nobody gains by a more exact count, and a year of minutes would take seconds to go through. */
const mostCounted = 1_000

export function ticksDue(schedule: Schedule, zone: string, planned: number, now: number): Due {
  let tick = planned
  for (let missed = 0; ; missed += 1) {
    const { run } = nextRun(schedule, zone, tick)
    if (run === undefined || run > now) return { tick, missed, more: false }
    if (missed === mostCounted) return { tick, missed, more: true }
    tick = run
  }
}
