import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { CronProblem, parseCron } from '../parse-cron.ts'
import { findNextTick } from '../next-cron-tick.ts'
import { toWallClockTime } from '../wall-clock.ts'
import { anyMoment, anyZone, minute, modelTicks } from './cron-tick-model.ts'

const at = (text: string) => Date.parse(text)

/** The ticks after a moment, as UTC. */
function ticks(expression: string, zone: string, after: string, count: number): string[] {
  let tick = at(after)
  return Array.from({ length: count }, () => new Date((tick = findNextTick(expression, zone, tick)!)).toISOString())
}

describe('findNextTick', () => {
  it.each([
    ['30 2 * * *', 'Europe/Oslo', '2026-03-28T12:00Z', ['2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z']],
    ['30 2 * * *', 'Europe/Oslo', '2026-10-24T12:00Z', ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']],
    ['0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z', ['2026-09-06T04:00:00.000Z', '2026-09-07T03:00:00.000Z']],
    ['0 0 * * *', 'America/Asuncion', '2026-10-03T12:00Z', ['2026-10-04T03:00:00.000Z', '2026-10-05T03:00:00.000Z']],
    [
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T10:00Z',
      ['2026-10-03T15:45:00.000Z', '2026-10-04T15:15:00.000Z'],
    ],
    ['0 2 * * *', 'Antarctica/Troll', '2026-03-28T12:00Z', ['2026-03-29T02:00:00.000Z', '2026-03-30T00:00:00.000Z']],
    ['0 6 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', ['2026-01-01T00:15:00.000Z', '2026-01-02T00:15:00.000Z']],
    ['0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', ['2028-02-29T00:00:00.000Z', '2032-02-29T00:00:00.000Z']],
    ['0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', ['2104-02-29T00:00:00.000Z', '2108-02-29T00:00:00.000Z']],
    ['0 0 31 * *', 'UTC', '2026-01-31T00:00Z', ['2026-03-31T00:00:00.000Z', '2026-05-31T00:00:00.000Z']],
    ['0 0 L * *', 'UTC', '2026-02-01T00:00Z', ['2026-02-28T00:00:00.000Z', '2026-03-31T00:00:00.000Z']],
    ['0 6 * * 1-5', 'Europe/Oslo', '2026-11-20T06:00Z', ['2026-11-23T05:00:00.000Z', '2026-11-24T05:00:00.000Z']],
  ])('finds the ticks of %s in %s after %s', (expression, zone, after, expected) => {
    expect(ticks(expression, zone, after, expected.length)).toEqual(expected)
  })

  it('keeps an interval of 15 minutes through the start and the end of daylight saving time', () => {
    for (const after of ['2026-10-24T23:00Z', '2026-03-28T23:00Z']) {
      const expected = Array.from({ length: 24 }, (_, index) => new Date(at(after) + (index + 1) * 15 * minute))
      expect(ticks('*/15 * * * *', 'Europe/Oslo', after, 24)).toEqual(expected.map((date) => date.toISOString()))
    }
  })

  it('finds the same tick as a minute-by-minute search of the wall clock, in any time zone', () => {
    const expressions = [
      '*/15 * * * *',
      '0 */3 * * *',
      '30 2 * * *',
      '0 0 * * *',
      '5,50 1-3 * * *',
      '0 0 * * 6',
      '20 2 L * *',
      '7 * 1 * 1',
    ]
    fc.assert(
      fc.property(anyZone, anyMoment, fc.constantFrom(...expressions), (zone, moment, expression) => {
        const [expected] = modelTicks(expression, zone, moment, 60)
        const found = findNextTick(expression, zone, moment)!
        if (expected === undefined) expect(found).toBeGreaterThan(moment + 60 * 3_600_000)
        else expect(new Date(found)).toEqual(new Date(expected))
      }),
      { numRuns: drawCount({ short: 40, long: 2_000 }) },
    )
  })

  it('returns a tick after the moment, at a whole minute, and roughly a day apart for a daily expression', () => {
    fc.assert(
      fc.property(anyZone, anyMoment, fc.nat(59), fc.nat(23), (zone, moment, minutes, hours) => {
        const first = findNextTick(`${minutes} ${hours} * * *`, zone, moment)!
        const second = findNextTick(`${minutes} ${hours} * * *`, zone, first)!
        expect(first).toBeGreaterThan(moment)
        expect(first - moment).toBeLessThanOrEqual(27 * 3_600_000)
        expect(second - first).toBeGreaterThanOrEqual(21 * 3_600_000)
        expect(first % minute).toBe(0)
        expect(toWallClockTime(zone, first) % minute).toBe(0)
      }),
      { numRuns: drawCount({ short: 300, long: 5_000 }) },
    )
  })
})

describe('parseCron', () => {
  it.each([
    ['', /five fields .* none/],
    ['@daily', /five fields .* has 1/],
    ['0 6 * *', /five fields .* has 4/],
    ['* * * * * * *', /five fields .* has 7/],
    ['*/10 * * * * *', /"\*\/10".*once a minute/],
    ['61 * * * *', /field for the minute, "61"/],
    ['0 24 * * *', /field for the hour, "24"/],
    ['0 0 0 * *', /field for the day of the month, "0"/],
    ['0 0 * MON *', /field for the month, "MON"/],
    ['0 0 * * FOO', /field for the day of the week, "FOO"/],
    ['0 0 15W * *', /field for the day of the month, "15W"/],
    ['H * * * *', /^H \(a random time\) is not supported/],
    ['0 0 30 2 *', /never matches/],
    ['0 0 31 2,4,6,9,11 *', /never matches/],
    ["0 0 * * *'; drop table runs --", /five fields/],
  ])('rejects "%s" with a message that names the problem', (expression, sentence) => {
    expect(() => parseCron(expression)).toThrow(CronProblem)
    expect(() => parseCron(expression)).toThrow(sentence)
  })

  it('accepts a leading seconds field if it is 0', () => {
    expect(parseCron('0 30 6 * * *').next(at('2026-01-01T00:00Z'))).toBe(at('2026-01-01T06:30Z'))
  })

  it('either accepts a random expression or rejects it with a full sentence', () => {
    const field = fc.oneof(
      fc.constantFrom('*', '?', 'L', '*/5', '1-5', '1#2', '5L', 'MON', 'jan', '0', '31', ','),
      fc.string({ maxLength: 6 }),
    )
    fc.assert(
      fc.property(fc.array(field, { minLength: 5, maxLength: 6 }), (fields) => {
        try {
          expect(parseCron(fields.join(' ')).next(0)).toBeGreaterThan(0)
        } catch (error) {
          if (!(error instanceof CronProblem)) throw error
          expect(error.message).toMatch(/^\S.*\.$/s)
        }
      }),
      { numRuns: drawCount({ short: 2_000, long: 100_000 }) },
    )
  })
})
