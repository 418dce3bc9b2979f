import { CronExpressionParser } from 'cron-parser'

/** What is wrong with a cron expression, in one sentence for whoever wrote it. */
export class CronProblem extends Error {
  override readonly name = 'CronProblem'
}

/** A cron expression that was understood. */
export interface Cron {
  /** Whether it names every hour of the day: then it is meant by the clock's pace, not by its face. */
  everyHour: boolean
  /**
   * The next moment after this one, on a clock that is never put forward or back: both are wall-clock times as if they were
   * UTC, in milliseconds. Undefined when there is none in a century.
   */
  next(wall: number): number | undefined
}

const fields = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const
const example = 'for example 0 6 * * 1-5, which is at 6:00 from Monday to Friday'
/** Leap days on a given weekday come every 28 years, and once in forty around a year that has none. */
const farthest = 100 * 366 * 86_400_000

const known = new Map<string, Cron>()
const mostKnown = 5_000

/** Understands an expression of five fields, or six of which the first, the seconds, is 0. Throws `CronProblem`. */
export function parseCron(expression: string): Cron {
  const found = known.get(expression)
  if (found) return found
  const cron = understand(expression)
  if (known.size >= mostKnown) known.clear()
  known.set(expression, cron)
  return cron
}

function understand(expression: string): Cron {
  const given = expression.trim().split(/\s+/)
  if (given.length === 6 && !/^0+$/.test(given[0]!))
    throw new CronProblem(
      `Nothing runs more often than once a minute, but the expression has "${given[0]}" for the seconds: write 0 there, or leave that field out.`,
    )
  const five = given.length === 6 ? given.slice(1) : given
  if (five.length !== 5)
    throw new CronProblem(
      `A cron expression has five fields (${fields.join(', ')}); this one has ${expression.trim() ? five.length : 'none'}. Write ${example}.`,
    )
  // Chosen by chance, and anew in each process.
  if (five.some((field) => /H/.test(field.replace(/THU|MARCH/gi, ''))))
    throw new CronProblem(
      'H, for a time chosen by chance, is not known here: use one of the random triggers, or say when.',
    )
  five.forEach((field, index) => demandField(five, field, index))
  const parsed = parse(five)
  const cron: Cron = {
    everyHour: parsed.fields.hour.values.length === 24,
    next(wall) {
      try {
        const next = parse(five, wall).next().getTime()
        return next - wall > farthest ? undefined : next
      } catch {
        // It looks through some thousand months, and gives up.
        return undefined
      }
    },
  }
  if (cron.next(Date.UTC(2024, 0, 1)) === undefined)
    throw new CronProblem(
      `The expression ${expression.trim()} never comes: there is no such day in any of those months. Change the day or the month.`,
    )
  return cron
}

/** Names the field that is not understood: the whole expression with every other field taken for "any". */
function demandField(all: readonly string[], field: string, index: number): void {
  try {
    parse(all.map((_, other) => (other === index ? field : '*')))
  } catch (error) {
    throw new CronProblem(
      `The field for the ${fields[index]}, "${field}", is not understood (${inWords(error)}). Write ${example}.`,
    )
  }
}

const parse = (five: readonly string[], wall = Date.UTC(2024, 0, 1)) => {
  try {
    return CronExpressionParser.parse(`0 ${five.join(' ')}`, { tz: 'UTC', currentDate: new Date(wall) })
  } catch (error) {
    // Days that no month has are found together with the months: each field is right by itself.
    if (/explicit day of month/i.test((error as Error).message))
      throw new CronProblem(
        `The expression ${five.join(' ')} never comes: there is no such day in any of those months. Change the day or the month.`,
      )
    throw error
  }
}

const inWords = (error: unknown) =>
  (error as Error).message.replace(/^(Constraint|Validation) error, /i, '').replace(/\.$/, '')
