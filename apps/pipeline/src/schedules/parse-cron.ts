import { type CronFieldCollection, CronExpressionParser } from 'cron-parser'

/** Thrown for an invalid cron expression. The message is one sentence for the person who wrote it. */
export class CronProblem extends Error {
  override readonly name = 'CronProblem'
}

export interface Cron {
  fields: CronFieldCollection
  /**
   * Whether the expression contains every hour of the day. Such schedules follow elapsed time instead of local time.
   */
  everyHour: boolean
  /**
   * Returns the next tick after `wall`; undefined if no tick follows within a century. Both are local times,
   * represented as milliseconds as if they were UTC, so daylight saving is ignored.
   */
  next(wall: number): number | undefined
}

const fieldNames = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const
const cronExample = 'for example 0 6 * * 1-5, which is at 6:00 from Monday to Friday'
/** The longest search for a tick, in milliseconds. 29 February falls on a given weekday at least every 40 years. */
const maxMilliseconds = 100 * 366 * 86_400_000

const cronCache = new Map<string, Cron>()
const maxCached = 5_000

/** Parses a cron expression of five fields, or of six fields if the first one (seconds) is 0. Throws `CronProblem`. */
export function parseCron(expression: string): Cron {
  const cached = cronCache.get(expression)
  if (cached) return cached
  const cron = parseAndValidate(expression)
  if (cronCache.size >= maxCached) cronCache.clear()
  cronCache.set(expression, cron)
  return cron
}

/** Parses a cron expression. Throws `CronProblem` if it is invalid or never matches. */
function parseAndValidate(expression: string): Cron {
  const fields = expression.trim().split(/\s+/)
  if (fields.length === 6 && !/^0+$/.test(fields[0]!))
    throw new CronProblem(
      `The seconds field is "${fields[0]}", but schedules run at most once a minute. Write 0 there, or omit the field.`,
    )
  const fiveFields = fields.length === 6 ? fields.slice(1) : fields
  if (fiveFields.length !== 5)
    throw new CronProblem(
      `A cron expression has five fields (${fieldNames.join(', ')}); this one has ${expression.trim() ? fiveFields.length : 'none'}. Write ${cronExample}.`,
    )
  // The library would choose a random value for H, a different one in each process.
  if (fiveFields.some((field) => /H/.test(field.replace(/THU|MARCH/gi, ''))))
    throw new CronProblem('H (a random time) is not supported. Use a random trigger, or write a fixed time.')
  fiveFields.forEach((field, index) => assertFieldValid(fiveFields, field, index))
  const parsed = parseFields(fiveFields)
  const cron: Cron = {
    fields: parsed.fields,
    everyHour: parsed.fields.hour.values.length === 24,
    next(wall) {
      try {
        const next = parseFields(fiveFields, wall).next().getTime()
        return next - wall > maxMilliseconds ? undefined : next
      } catch {
        // The library throws after searching some thousand months.
        return undefined
      }
    },
  }
  if (cron.next(Date.UTC(2024, 0, 1)) === undefined)
    throw new CronProblem(
      `The expression ${expression.trim()} never matches: none of its months has such a day. Change the day or the month.`,
    )
  return cron
}

/**
 * Throws `CronProblem` if this field is invalid. Parses it alone, with `*` in all other fields, so that the message can
 * name the field.
 */
function assertFieldValid(all: readonly string[], field: string, index: number): void {
  try {
    parseFields(all.map((_, other) => (other === index ? field : '*')))
  } catch (error) {
    throw new CronProblem(
      `The field for the ${fieldNames[index]}, "${field}", is invalid (${describeParserError(error)}). Write ${cronExample}.`,
    )
  }
}

/**
 * Parses five cron fields. The result finds the ticks after the local time `wall`. Throws `CronProblem` if none of the
 * months has the day.
 */
const parseFields = (fiveFields: readonly string[], wall = Date.UTC(2024, 0, 1)) => {
  try {
    return CronExpressionParser.parse(`0 ${fiveFields.join(' ')}`, { tz: 'UTC', currentDate: new Date(wall) })
  } catch (error) {
    // Each field is valid by itself, but none of the months has this day.
    if (/explicit day of month/i.test((error as Error).message))
      throw new CronProblem(
        `The expression ${fiveFields.join(' ')} never matches: none of its months has such a day. Change the day or the month.`,
      )
    throw error
  }
}

const describeParserError = (error: unknown) =>
  (error as Error).message.replace(/^(Constraint|Validation) error, /i, '').replace(/\.$/, '')
