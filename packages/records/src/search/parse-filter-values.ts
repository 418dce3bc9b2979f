import { type RawBuilder, sql } from 'kysely'
import type { Property } from './properties.ts'
import { rejectTerm } from './invalid-search.ts'

const maxValueLength = 1000
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns whether the text is a UUID. PostgreSQL rejects a query that compares a uuid with other text. */
export const isUid = (text: string): boolean => uuidPattern.test(text)

/** Limits the number of digits, because PostgreSQL fails for numbers beyond its range. */
const numberPattern = /^-?\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,2})?$/
const bigintPattern = /^-?\d{1,18}$/

/** Returns one value as a bind parameter of the property's type. */
export function valueOf(property: Property, text: string): RawBuilder<unknown> {
  const value = parseValue(property, text)
  return sql`${value}${castValues(property, [value]) ?? sql``}`
}

/** Returns several values as one bind parameter: an array. */
export function arrayOf(property: Property, texts: readonly string[]): RawBuilder<unknown> {
  const values = texts.map((text) => parseValue(property, text))
  const type = castValues(property, values)
  return type ? sql`${values}${type}[]` : sql`${values}`
}

/** Parses the size of a collection, with which `eq` and `ne` compare it. Rejects text that is not an integer. */
export function collectionSize(text: string): RawBuilder<unknown> {
  if (!/^\d{1,9}$/.test(text)) {
    const member = /^[\w-]{1,60}$/.test(text) ? text : '…'
    rejectTerm(`must compare the size of a collection with a whole number; to find members use in:[${member}]`)
  }
  return sql`${text}::integer`
}

/**
 * Returns a value of a filter in the form that PostgreSQL reads. Rejects text that does not fit the property's type.
 */
function parseValue(property: Property, text: string): string {
  if (text.length > maxValueLength) rejectTerm(`must compare with at most ${maxValueLength} characters`)
  switch (property.type) {
    case 'uid':
      return isUid(text) ? text.toLowerCase() : rejectTerm('must compare with an id, which is a UUID')
    case 'number':
      return numberPattern.test(text) ? text : rejectTerm('must compare with a number')
    case 'boolean':
      return text === 'true' || text === 'false' ? text : rejectTerm('must compare with true or false')
    case 'enum':
      if (property.values.includes(text)) return text
      return rejectTerm(`must compare with one of: ${property.values.join(', ')}`)
    case 'date-time':
      return dateTime(text)
    case 'string':
    case 'strings':
      return text
  }
}

/**
 * Returns the SQL cast for the values, or undefined for text-like types, which PostgreSQL infers from the column.
 * Integers are cast to bigint, because an index on an integer column does not support a comparison with numeric.
 */
function castValues({ type }: Property, values: readonly string[]): RawBuilder<unknown> | undefined {
  switch (type) {
    case 'number':
      return values.every((value) => bigintPattern.test(value)) ? sql`::bigint` : sql`::numeric`
    case 'date-time':
      return sql`::timestamptz`
    case 'boolean':
      return sql`::boolean`
    default:
      return undefined
  }
}

const iso8601 =
  /^(?<date>\d{4}-\d\d-\d\d)(?:T(?<time>[01]\d|2[0-3]):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:\.(?<fraction>\d{1,9}))?)?(?<zone>Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?)?$/

/**
 * Converts an ISO 8601 date or date-time to text that PostgreSQL reads independently of session settings. A missing
 * time is midnight, and a missing offset is UTC. Digits after microseconds are truncated.
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
    rejectTerm(
      'must compare with an ISO 8601 date or date-time, such as 2024-05-31 or 2024-05-31T12:00:00Z (an address needs %2B for +)',
    )
  }
  if (!inCalendar(date)) rejectTerm(`must compare with a day of the calendar, which ${date} is not`)
  return `${date}T${time}:${minute}:${second}.${fraction.slice(0, 6)}${zone}`
}

/**
 * Returns whether PostgreSQL accepts the date. It rejects the year 0, and 30 February, which JavaScript reads as 1
 * March.
 */
function inCalendar(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`)
  return !date.startsWith('0000') && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date)
}
