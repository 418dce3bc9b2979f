import type { Schedule } from './schedule.ts'
import { type Cron, parseCron } from './parse-cron.ts'
import { toCronExpression } from './schedule-to-cron.ts'

/**
 * The properties of a schedule that its description depends on. `uid` is undefined for an object that is not saved yet.
 */
export type DescribedSchedule = Omit<Schedule, 'uid' | 'disabled'> & { uid?: string | undefined }

const randomTriggers: Partial<Record<Schedule['runTrigger'], string>> = {
  EVERY_NIGHT_RANDOM: 'every day',
  EVERY_SATURDAY_NIGHT_RANDOM: 'every Saturday',
  EVERY_MONTH_RANDOM: 'on one of the first 28 days of every month',
}

/** Returns whether the times of a schedule depend on the object's id, and the object has none yet. */
export const needsId = ({ uid, runTrigger, continuouslyUpdated }: DescribedSchedule): boolean =>
  uid === undefined && (continuouslyUpdated || runTrigger in randomTriggers)

/** Describes a schedule in English, in one or two sentences. Throws `CronProblem` for an invalid expression. */
export function describeSchedule(schedule: DescribedSchedule): string {
  const { continuouslyUpdated, continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const trigger = describeTrigger(schedule)
  if (!continuouslyUpdated) return trigger === undefined ? 'Only on request.' : toSentence(trigger)
  const fullRunTimes: string[] = []
  if (trigger !== undefined) fullRunTimes.push(trigger)
  if (hours !== null) fullRunTimes.push(formatInterval(hours, 'hour'))
  const sentences: string[] = []
  if (minutes !== null) sentences.push(`Incremental runs ${formatInterval(minutes, 'minute')}.`)
  if (fullRunTimes.length > 0) sentences.push(`Full runs ${fullRunTimes.join(', and also ')}.`)
  return sentences.join(' ')
}

/**
 * Describes the times of the trigger, without a full stop: `at 6:00 from Monday to Friday`. Returns undefined if the
 * trigger never runs.
 */
function describeTrigger({ uid, ...schedule }: DescribedSchedule): string | undefined {
  const days = randomTriggers[schedule.runTrigger]
  if (uid === undefined && days !== undefined)
    return `once between 0:00 and 5:00 ${days}, at a time that depends on the id of the object`
  const expression = toCronExpression({ ...schedule, uid: uid ?? '' })
  return expression === undefined ? undefined : describeCron(parseCron(expression))
}

/**
 * Describes a cron expression by the values of its fields. Different expressions for the same times thus get the same
 * text.
 */
function describeCron({ fields }: Cron): string {
  const days = describeDays(fields)
  const times = describeTimes(listNumbers(fields.minute.values), listNumbers(fields.hour.values))
  const months = listNumbers(fields.month.values)
  const inMonths = months.length === 12 ? '' : ` in ${joinWords(months.map((month) => monthNames[month - 1]!))}`
  // A text such as "every 15 minutes" needs no days; "at 6:00" does.
  const isDaily = days === everyDay && !times.startsWith('at ')
  return `${times}${isDaily ? '' : ` ${days}`}${inMonths}`
}

/**
 * Up to this number of times per day, the description lists each time; otherwise it describes the minutes and hours.
 */
const maxListedTimes = 6

/**
 * Describes times of day. Lists them if there are few. Otherwise describes the step of the minutes or hours, such as
 * `every 15 minutes`, and the hours unless they are all 24.
 */
function describeTimes(minutes: readonly number[], hours: readonly number[]): string {
  if (minutes.length * hours.length <= maxListedTimes)
    return `at ${joinWords(hours.flatMap((hour) => minutes.map((minute) => formatTimeOfDay(hour, minute))))}`
  const minuteStep = findStep(minutes, 60)
  const hourStep = findStep(hours, 24)
  if (minuteStep !== undefined) {
    const hoursText = hours.length === 24 ? '' : ` in ${describeHours(hours)}`
    return `${formatInterval(minuteStep, 'minute')}${hoursText}`
  }
  const minuteText = `at ${minutes.length === 1 ? 'minute' : 'minutes'} ${joinWords(minutes.map(String))}`
  if (hourStep !== undefined) return `${formatInterval(hourStep, 'hour')} ${minuteText}`
  return `every hour ${minuteText} in ${describeHours(hours)}`
}

/** Describes hours: `the hours from 8:00 to 17:59`, or `the hours that begin at 8:00, 12:00 and 16:00`. */
function describeHours(hours: readonly number[]): string {
  const first = hours[0]!
  const last = hours.at(-1)!
  if (last - first + 1 === hours.length)
    return `the hours from ${formatTimeOfDay(first, 0)} to ${formatTimeOfDay(last, 59)}`
  return `the hours that begin at ${joinWords(hours.map((hour) => formatTimeOfDay(hour, 0)))}`
}

/** Returns the interval of values that divide a period evenly, starting at 0. Returns undefined for other values. */
function findStep(values: readonly number[], period: number): number | undefined {
  const step = period / values.length
  if (values.length < 2) return undefined
  return values.every((value, index) => value === index * step) ? step : undefined
}

const everyDay = 'every day'

/**
 * Describes the days. If both days of the month and days of the week are restricted, a run starts on days that match
 * either (as in cron).
 */
function describeDays({ dayOfMonth, dayOfWeek }: Cron['fields']): string {
  const ofMonth = dayOfMonth.isWildcard ? undefined : describeDaysOfMonth(dayOfMonth)
  const ofWeek = dayOfWeek.isWildcard ? undefined : describeDaysOfWeek(dayOfWeek)
  const restrictions = [ofMonth, ofWeek].filter((part) => part !== undefined)
  if (restrictions.length === 0 || restrictions.includes(everyDay)) return everyDay
  return restrictions.join(', and also ')
}

function describeDaysOfMonth({ values, hasLastChar }: Cron['fields']['dayOfMonth']): string {
  const days = listNumbers(values)
  if (days.length === 31) return everyDay
  const dayTexts = [...days.map(formatOrdinal), ...(hasLastChar ? ['last day'] : [])]
  return `on the ${joinWords(dayTexts)} of the month`
}

/** Describes the days of the week, for example `on Monday`, or `on the last Friday of the month`. */
function describeDaysOfWeek({ values, nthDay }: Cron['fields']['dayOfWeek']): string {
  const days = listNumbers(values).toSorted((one, other) => daysAfterMonday(one) - daysAfterMonday(other))
  // `nthDay` is the number of a weekday within the month, such as 2 for the second Friday; 0 means every week.
  if (nthDay > 0) return `on the ${ordinalWords[nthDay - 1]} ${dayNames[days[0]!]} of the month`
  if (days.length === 7) return everyDay
  // The parser returns text such as `5L` for the last Friday of the month. Sunday is 0 or 7.
  const lastDays = values
    .filter((value) => typeof value === 'string')
    .map((value) => dayNames[Number.parseInt(value, 10) % 7])
  const phrases: string[] = []
  if (days.length > 0) phrases.push(describeWeekdays(days))
  if (lastDays.length > 0) phrases.push(`on the last ${joinWords(lastDays.map(String))} of the month`)
  return phrases.join(', and also ')
}

/** Converts the number of a weekday (0 is Sunday) to its position in a week that starts on Monday. */
const daysAfterMonday = (day: number) => (day + 6) % 7

/** Describes weekdays by their numbers; 0 is Sunday. */
function describeWeekdays(days: readonly number[]): string {
  const names = days.map((day) => dayNames[day]!)
  const isRange = days.length > 2 && daysAfterMonday(days.at(-1)!) - daysAfterMonday(days[0]!) + 1 === days.length
  return isRange ? `from ${names[0]} to ${names.at(-1)}` : `on ${joinWords(names)}`
}

const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const ordinalWords = ['first', 'second', 'third', 'fourth', 'fifth']

const listNumbers = (values: readonly unknown[]): number[] =>
  [...new Set(values.filter((value) => typeof value === 'number'))].toSorted((one, other) => one - other)

const formatTimeOfDay = (hour: number, minute: number): string => `${hour}:${String(minute).padStart(2, '0')}`

function formatOrdinal(day: number): string {
  const endings: Record<number, string> = { 1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st' }
  return `${day}${endings[day] ?? 'th'}`
}

/** Formats an interval: `every minute`, `every 15 minutes`. */
export const formatInterval = (count: number, unit: string): string =>
  `every ${count === 1 ? unit : `${count} ${unit}s`}`

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

const toSentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`
