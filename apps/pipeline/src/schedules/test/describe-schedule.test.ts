import { describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { type DescribedSchedule, describeSchedule, needsId } from '../describe-schedule.ts'
import { CronProblem, parseCron } from '../parse-cron.ts'

const schedule = (changes: Partial<DescribedSchedule>): DescribedSchedule => ({
  runTrigger: 'NEVER',
  cronExpression: null,
  continuouslyUpdated: false,
  continuousUpdateInterval: null,
  fullRefreshInterval: null,
  ...changes,
})
const cron = (cronExpression: string) => describeSchedule(schedule({ runTrigger: 'CUSTOM', cronExpression }))

describe('describeSchedule', () => {
  it.each([
    ['* * * * *', 'Every minute.'],
    ['*/15 * * * *', 'Every 15 minutes.'],
    ['0 * * * *', 'Every hour at minute 0.'],
    ['0 */3 * * *', 'Every 3 hours at minute 0.'],
    ['0 2 * * *', 'At 2:00 every day.'],
    ['0 6,18 * * MON-FRI', 'At 6:00 and 18:00 from Monday to Friday.'],
    ['0 6 * * 7', 'At 6:00 on Sunday.'],
    ['0 6 * * 0,6', 'At 6:00 on Saturday and Sunday.'],
    ['*/10 8-17 * * 1-5', 'Every 10 minutes in the hours from 8:00 to 17:59 from Monday to Friday.'],
    ['*/7 * * * *', 'Every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56.'],
    [
      '5,50 8,12,20,21 * * *',
      'Every hour at minutes 5 and 50 in the hours that begin at 8:00, 12:00, 20:00 and 21:00.',
    ],
    ['0 0 1 * *', 'At 0:00 on the 1st of the month.'],
    ['30 4 1,15,L * *', 'At 4:30 on the 1st, 15th and last day of the month.'],
    ['0 0 * * 5L', 'At 0:00 on the last Friday of the month.'],
    ['0 0 * * 2#2', 'At 0:00 on the second Tuesday of the month.'],
    ['0 0 1 * 1', 'At 0:00 on the 1st of the month, and also on Monday.'],
    ['0 0 1 1,7 *', 'At 0:00 on the 1st of the month in January and July.'],
    ['0 0 */1 * 1', 'At 0:00 every day.'],
  ])('describes %s', (expression, words) => {
    expect(cron(expression)).toBe(words)
  })

  it.each<[Partial<DescribedSchedule>, string]>([
    [{ runTrigger: 'NEVER' }, 'Only on request.'],
    [{ runTrigger: 'EVERY_DAY_2AM' }, 'At 2:00 every day.'],
    [{ runTrigger: 'EVERY_WEEKDAY' }, 'At 0:00 from Monday to Friday.'],
    [
      { runTrigger: 'EVERY_NIGHT_RANDOM' },
      'Once between 0:00 and 5:00 every day, at a time that depends on the id of the object.',
    ],
    [
      {
        continuouslyUpdated: true,
        continuousUpdateInterval: 15,
        runTrigger: 'EVERY_SATURDAY',
        fullRefreshInterval: 24,
      },
      'Incremental runs every 15 minutes. Full runs at 0:00 on Saturday, and also every 24 hours.',
    ],
    [{ continuouslyUpdated: true, continuousUpdateInterval: 1 }, 'Incremental runs every minute.'],
  ])('describes %j', (changes, words) => {
    expect(describeSchedule(schedule(changes))).toBe(words)
  })

  it('names the minute of a random trigger as soon as the object has an id', () => {
    const random = schedule({ runTrigger: 'EVERY_MONTH_RANDOM' })
    expect(needsId(random)).toBe(true)
    const known = { ...random, uid: 'c3f1a9d2-8a54-4f0e-9b1c-1f2e3d4c5b6a' }
    expect(needsId(known)).toBe(false)
    expect(describeSchedule(known)).toMatch(/^At [0-4]:\d\d on the \d+(st|nd|rd|th) of the month\.$/)
  })

  it('has words that mean exactly the times of the expression', () => {
    const list = (low: number, high: number) =>
      fc.uniqueArray(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 4 }).map((all) => all.join(','))
    const field = (low: number, high: number, ...more: string[]) =>
      fc.oneof(
        fc.constantFrom('*', '*/1', ...more),
        list(low, high),
        fc.integer({ min: 2, max: high }).map((step) => `*/${step}`),
        fc
          .tuple(fc.integer({ min: low, max: high }), fc.integer({ min: low, max: high }))
          .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
      )
    const expressions = fc.tuple(
      field(0, 59),
      field(0, 23),
      field(1, 31, 'L', '1,L'),
      field(1, 12, 'JAN', 'MAR-JUN'),
      field(0, 6, '7', 'MON-FRI', '5L', '1,5L', '2#2', '0#5', 'SUN,WED'),
    )
    const anyDay = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2032, 0, 1) })
    fc.assert(
      fc.property(expressions, anyDay, (fields, start) => {
        const expression = fields.join(' ')
        let next: number
        try {
          next = parseCron(expression).next(start)!
        } catch (error) {
          if (error instanceof CronProblem) return
          throw error
        }
        const isTime = readWords(cron(expression))
        expect([expression, cron(expression), new Date(next), isTime(next)]).toEqual([
          expression,
          cron(expression),
          new Date(next),
          true,
        ])
        const firstMinute = (Math.floor(start / 60_000) + 1) * 60_000
        for (let wall = firstMinute; wall < Math.min(next, start + 3 * 86_400_000); wall += 60_000)
          if (isTime(wall))
            throw new Error(`${cron(expression)} includes ${new Date(wall).toISOString()}: ${expression}`)
      }),
      { numRuns: drawCount({ short: 300, long: 20_000 }) },
    )
  })
})

const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const monthNames = Array.from({ length: 12 }, (_, month) =>
  new Date(Date.UTC(2024, month, 1)).toLocaleString('en', { month: 'long', timeZone: 'UTC' }),
)
const ordinals = ['first', 'second', 'third', 'fourth', 'fifth']
const itemsOf = (text: string) => text.split(/, | and /)

/** Reads a description as a person does: whether a wall-clock time, as if it were UTC, is one of its times. */
function readWords(sentence: string): (wall: number) => boolean {
  let text = sentence.replace(/^./, (first) => first.toLowerCase()).replace(/\.$/, '')
  const months = new RegExp(` in ((?:(?:${monthNames.join('|')})(?:, | and |$))+)$`).exec(text)
  if (months) text = text.slice(0, months.index)
  const isMonth = (date: Date) => !months || itemsOf(months[1]!).includes(monthNames[date.getUTCMonth()]!)

  const [, times, days = 'every day'] = /^(.*?)(?: (every day|(?:on|from [A-Z]).*))?$/.exec(text)!
  const isDay = readDays(days)
  const isTime = readTimes(times!)
  return (wall) => {
    const date = new Date(wall)
    return isMonth(date) && isDay(date) && isTime(date.getUTCHours(), date.getUTCMinutes())
  }
}

function readTimes(words: string): (hour: number, minute: number) => boolean {
  const at = /^at ([\d:, and]+)$/.exec(words)
  if (at) return (hour, minute) => itemsOf(at[1]!).includes(`${hour}:${String(minute).padStart(2, '0')}`)
  const [, count = '1', unit, minutes, from, to, begins] =
    /^every (?:(\d+) )?(minute|hour)s?(?: at minutes? ([\d, and]+?))?(?: in the hours (?:from (\d+):00 to (\d+):59|that begin at (.+)))?$/.exec(
      words,
    )!
  return (hour, minute) => {
    if (from !== undefined && (hour < Number(from) || hour > Number(to))) return false
    if (begins !== undefined && !itemsOf(begins).includes(`${hour}:00`)) return false
    if (unit === 'minute') return minute % Number(count) === 0
    return hour % Number(count) === 0 && itemsOf(minutes!).map(Number).includes(minute)
  }
}

function readDays(words: string): (date: Date) => boolean {
  if (words === 'every day') return () => true
  const choices = words.split(', and also ').map(readDay)
  return (date) => choices.some((isDay) => isDay(date))
}

function readDay(words: string): (date: Date) => boolean {
  const day = (date: Date) => dayNames[date.getUTCDay()]!
  const isInLastWeek = (date: Date) => new Date(date.getTime() + 7 * 86_400_000).getUTCMonth() !== date.getUTCMonth()
  const isLastDay = (date: Date) => new Date(date.getTime() + 86_400_000).getUTCDate() === 1
  const last = /^on the last ([A-Z].*) of the month$/.exec(words)
  if (last) return (date) => isInLastWeek(date) && itemsOf(last[1]!).includes(day(date))
  const nth = /^on the (\w+) ([A-Z]\w+) of the month$/.exec(words)
  if (nth) return (date) => day(date) === nth[2] && Math.ceil(date.getUTCDate() / 7) === ordinals.indexOf(nth[1]!) + 1
  const numbered = /^on the (.*) of the month$/.exec(words)
  if (numbered)
    return (date) =>
      itemsOf(numbered[1]!).some((item) =>
        item === 'last day' ? isLastDay(date) : Number.parseInt(item, 10) === date.getUTCDate(),
      )
  const range = /^from (\w+) to (\w+)$/.exec(words)
  const place = (name: string) => (dayNames.indexOf(name) + 6) % 7
  if (range) return (date) => place(day(date)) >= place(range[1]!) && place(day(date)) <= place(range[2]!)
  return (date) => itemsOf(words.replace(/^on /, '')).includes(day(date))
}
