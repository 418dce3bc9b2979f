import { describe, expect, it } from '@jest/globals'
import { runTriggers } from '@sluice/contracts'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { toCronExpression } from '../schedule-to-cron.ts'
import { computeNextRun, countDueTicks } from '../next-run.ts'
import type { Schedule } from '../schedule.ts'
import { toWallClockTime } from '../wall-clock.ts'
import { computeNextRunInNewZone } from '../replan-changed-time-zones.ts'
import { anyMoment, anyZone, minute } from './cron-tick-model.ts'

const schedule = (changes: Partial<Schedule> = {}): Schedule => ({
  uid: '6b0f8a52-6b1f-4b6e-9a5c-0e4d1c2b3a49',
  disabled: false,
  runTrigger: 'NEVER',
  cronExpression: null,
  continuouslyUpdated: false,
  continuousUpdateInterval: null,
  fullRefreshInterval: null,
  ...changes,
})
const at = (text: string) => Date.parse(text)
const hour = 60 * minute
const anyUid = fc.uuid()

describe('run trigger', () => {
  const fixed = {
    EVERY_15_MIN: '*/15 * * * *',
    EVERY_30_MIN: '*/30 * * * *',
    EVERY_HOUR: '0 * * * *',
    EVERY_3_HOURS: '0 */3 * * *',
    EVERY_DAY_0AM: '0 0 * * *',
    EVERY_DAY_2AM: '0 2 * * *',
    EVERY_WEEKDAY: '0 0 * * 1-5',
    EVERY_SATURDAY: '0 0 * * 6',
    EVERY_MONTH: '0 0 1 * *',
  } as const

  it.each(Object.entries(fixed))('%s has the cron expression %s', (runTrigger, expression) => {
    expect(toCronExpression(schedule({ runTrigger: runTrigger as keyof typeof fixed }))).toBe(expression)
  })

  it.each([
    ['EVERY_NIGHT_RANDOM', /^([1-5]?\d) [0-4] \* \* \*$/],
    ['EVERY_SATURDAY_NIGHT_RANDOM', /^([1-5]?\d) [0-4] \* \* 6$/],
    ['EVERY_MONTH_RANDOM', /^([1-5]?\d) [0-4] ([1-9]|1\d|2[0-8]) \* \*$/],
  ] as const)('%s derives a constant night time from the uid', (runTrigger, form) => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(anyUid, (uid) => {
        const expression = toCronExpression(schedule({ uid, runTrigger }))
        expect(expression).toMatch(form)
        expect(toCronExpression(schedule({ uid, runTrigger, disabled: true }))).toBe(expression)
        seen.add(expression!)
      }),
      { numRuns: 500 },
    )
    expect(seen.size).toBeGreaterThan(200)
  })

  it('EVERY_NIGHT_RANDOM spreads 1,000 pipelines evenly over the five hours', () => {
    const hours = Array.from({ length: 1_000 }, (_, index) => {
      const uid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
      return Number(toCronExpression(schedule({ uid, runTrigger: 'EVERY_NIGHT_RANDOM' }))!.split(' ')[1])
    })
    for (const each of [0, 1, 2, 3, 4]) expect(hours.filter((found) => found === each).length).toBeGreaterThan(140)
  })

  it('has a next run in every time zone, unless it is NEVER or the schedule is disabled', () => {
    const triggers = runTriggers.filter((trigger) => trigger !== 'NEVER')
    fc.assert(
      fc.property(anyZone, anyMoment, anyUid, fc.constantFrom(...triggers), (zone, now, uid, runTrigger) => {
        const given = schedule({ uid, runTrigger, cronExpression: '0 12 * * *' })
        const { run, full } = computeNextRun(given, zone, now)
        expect(run).toBeGreaterThan(now)
        expect(run).toBe(full)
        expect(computeNextRun({ ...given, disabled: true }, zone, now)).toEqual({})
        expect(computeNextRun({ ...given, runTrigger: 'NEVER' }, zone, now)).toEqual({})
      }),
      { numRuns: 200 },
    )
  })
})

describe('continuous updates', () => {
  const continuous = (minutes: number, hours: number | null, changes: Partial<Schedule> = {}) =>
    schedule({ continuouslyUpdated: true, continuousUpdateInterval: minutes, fullRefreshInterval: hours, ...changes })

  it('follow the update interval, and every full refresh coincides with an update', () => {
    fc.assert(
      fc.property(
        anyUid,
        anyMoment,
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 1, max: 48 }),
        (uid, now, minutes, factor) => {
          const given = continuous(minutes, factor * minutes, { uid })
          const first = computeNextRun(given, 'UTC', now)
          const second = computeNextRun(given, 'UTC', first.run!)
          expect(first.run! - now).toBeLessThanOrEqual(minutes * minute)
          expect(second.run! - first.run!).toBe(minutes * minute)
          expect((first.full! - first.run!) % (minutes * minute)).toBe(0)
          expect(computeNextRun(given, 'UTC', first.full!).full! - first.full!).toBe(factor * minutes * hour)
        },
      ),
    )
  })

  it('make a full refresh also when the trigger is due', () => {
    const given = continuous(10, null, { runTrigger: 'EVERY_DAY_2AM' })
    expect(computeNextRun(given, 'Europe/Oslo', at('2026-11-22T00:55Z')).full).toBe(at('2026-11-22T01:00Z'))
    expect(computeNextRun(continuous(10, null), 'Europe/Oslo', 0)).not.toHaveProperty('full')
  })
})

describe('missed ticks', () => {
  const quarter = schedule({ runTrigger: 'EVERY_15_MIN' })

  it('lead to one run for the newest tick, with the number of the others', () => {
    const planned = at('2026-11-22T10:00Z')
    expect(countDueTicks(quarter, 'UTC', planned, at('2026-11-22T12:20Z'))).toEqual({
      tick: at('2026-11-22T12:15Z'),
      missed: 9,
      more: false,
    })
    expect(countDueTicks(quarter, 'UTC', planned, planned)).toEqual({ tick: planned, missed: 0, more: false })
  })

  it('are counted up to 1,000', () => {
    const due = countDueTicks(quarter, 'UTC', at('2025-01-01T00:00Z'), at('2026-01-01T00:00Z'))
    expect(due).toMatchObject({ missed: 1_000, more: true })
  })
})

describe('organisation that changes its time zone', () => {
  const daily = schedule({ runTrigger: 'EVERY_DAY_0AM' })

  it.each([
    [
      'eastwards before midnight: the day that has already started in the new zone is run at once',
      'UTC',
      'Europe/Oslo',
      '2026-06-10T23:30Z',
      '2026-06-10T22:00Z',
    ],
    [
      'westwards after midnight: the day that was already run is not run again in the new zone',
      'Europe/Oslo',
      'UTC',
      '2026-06-10T23:00Z',
      '2026-06-12T00:00Z',
    ],
    [
      'one whole day ahead: the day that has already started in the new zone is run at once',
      'Pacific/Midway',
      'Pacific/Fakaofo',
      '2026-03-29T01:00Z',
      '2026-03-28T11:00Z',
    ],
    [
      'more than a day ahead: the day that the change skips is run at once',
      'Pacific/Midway',
      'Pacific/Kiritimati',
      '2026-03-29T10:30Z',
      '2026-03-28T10:00Z',
    ],
    [
      'in the middle of the day: the next run is at the next midnight of the new zone',
      'UTC',
      'Europe/Oslo',
      '2026-06-10T12:00Z',
      '2026-06-10T22:00Z',
    ],
  ])('%s', (_, from, to, now, expected) => {
    expect(new Date(computeNextRunInNewZone(daily, from, to, at(now)).run!)).toEqual(new Date(expected))
  })

  it('gets exactly one daily run per calendar day, for any two time zones and any moment', () => {
    fc.assert(
      fc.property(anyZone, anyZone, anyMoment, (from, to, now) => {
        const before = computeNextRun(daily, from, now - 30 * hour).run!
        const last = countDueTicks(daily, from, before, now).tick
        const { run } = computeNextRunInNewZone(daily, from, to, now)
        const dayOf = (zone: string, moment: number) => Math.floor(toWallClockTime(zone, moment) / (24 * hour))
        expect(dayOf(to, run!)).toBe(dayOf(from, last) + 1)
      }),
      { numRuns: 300 },
    )
  })

  it('continues a 15-minute schedule within 30 minutes, for any two time zones', () => {
    fc.assert(
      fc.property(anyZone, anyZone, anyMoment, (from, to, now) => {
        const { run } = computeNextRunInNewZone(schedule({ runTrigger: 'EVERY_15_MIN' }), from, to, now)
        expect(run! - now).toBeLessThanOrEqual(30 * minute)
        expect(run! - now).toBeGreaterThan(-30 * minute)
      }),
      // In Tallinn that hour comes for the second time.
      {
        numRuns: drawCount({ short: 40, long: 2_000 }),
        examples: [['Europe/Kaliningrad', 'Europe/Tallinn', at('2026-10-25T01:00Z')]],
      },
    )
  })
})
