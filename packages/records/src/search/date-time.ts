import { refuse } from './violations.ts'

const iso8601 =
  /^(?<date>\d{4}-\d\d-\d\d)(?:T(?<time>[01]\d|2[0-3]):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:\.(?<fraction>\d{1,9}))?)?(?<zone>Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?)?$/

/**
 * An ISO 8601 date or date-time as PostgreSQL reads it without regard to any session setting. What names no time of day
 * is midnight, what names no offset is UTC. Microseconds are kept, anything finer is cut off.
 */
export function dateTime(text: string): string {
  const {
    date,
    time = '00',
    minute = '00',
    second = '00',
    fraction = '0',
    zone = 'Z',
  } = iso8601.exec(text)?.groups ?? {}
  if (date === undefined) {
    refuse(
      'must compare with an ISO 8601 date or date-time, such as 2024-05-31 or 2024-05-31T12:00:00Z (an address needs %2B for +)',
    )
  }
  if (!inCalendar(date)) refuse(`must compare with a day of the calendar, which ${date} is not`)
  return `${date}T${time}:${minute}:${second}.${fraction.slice(0, 6)}${zone}`
}

/** JavaScript takes 30 February for 1 March; PostgreSQL refuses it, and has no year 0. */
function inCalendar(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`)
  return !date.startsWith('0000') && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date)
}
