import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { dateTime } from './values.ts'
import type { OrderTerm } from './order.ts'
import type { PropertyType } from './properties.ts'
import { assertStorableText, rejectTerm } from './violations.ts'
import { createHash } from 'node:crypto'

/** The value of a term in a row, as text that `valueIn` reads back to the same value; null for a missing one. */
export function keyText({ key, type }: OrderTerm): RawBuilder<string | null> {
  // Without a zone, so that no setting of the session shows in it: `dateTime` takes it for UTC.
  const value = type === 'date-time' ? sql`(${key} at time zone 'UTC')` : key
  return sql`to_jsonb(${value}) #>> '{}'`
}

/** The rows that come after the one with these values, in an order that ends in something unique and never missing. */
export function afterKeys(terms: readonly OrderTerm[], keys: readonly (string | null)[]): RawBuilder<SqlBool> {
  const values = terms.map((term, at) => bindKey(term, keys[at] ?? null))
  const uniform = terms.every(({ required, descending }) => required && descending === terms[0]!.descending)
  if (!uniform) return sql`(${lexicographicAfter(terms, values)})`
  // One comparison of rows, which an index answers whole.
  const sides = [
    terms.map(({ key }) => key),
    values.map((value) => value ?? rejectTerm('has no value where one must be')),
  ]
  const [rows, bound] = sides.map((side) => sql`(${sql.join(side)})`)
  return sql`${rows} ${sql.raw(terms[0]!.descending ? '<' : '>')} ${bound}`
}

type KeysetValue = RawBuilder<unknown> | undefined

/** Later by the first term, or equal in it and later by the rest. */
function lexicographicAfter(
  [term, ...rest]: readonly OrderTerm[],
  [value, ...values]: readonly KeysetValue[],
): RawBuilder<SqlBool> {
  if (!term) return sql`false`
  const { key, required } = term
  const further = lexicographicAfter(rest, values)
  // Missing ones are last: behind one of them come only others, as far as the rest says.
  if (!value) return sql`(${key} is null and (${further}))`
  const later = sql<SqlBool>`${key} ${sql.raw(term.descending ? '<' : '>')} ${value}`
  const orMissing = required ? later : sql<SqlBool>`${later} or ${key} is null`
  return sql`${orMissing} or (${key} = ${value} and (${further}))`
}

const valuePatterns: Partial<Record<PropertyType, RegExp>> = {
  uid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  number: /^-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/,
  boolean: /^(true|false)$/,
}

/** A value as a bind parameter. Refuses what PostgreSQL would fail on: the text comes from outside. */
function bindKey({ type }: OrderTerm, text: string | null): KeysetValue {
  if (text === null) return undefined
  assertStorableText(text)
  if (valuePatterns[type]?.test(text) === false) rejectTerm('holds what is no value of this order')
  switch (type) {
    case 'number':
      return /^-?\d{1,18}$/.test(text) ? sql`${text}::bigint` : sql`${text}::numeric`
    case 'date-time':
      return sql`${dateTime(text)}::timestamptz`
    case 'boolean':
      return sql`${text}::boolean`
    default:
      return sql`${text}`
  }
}

/** A place in a list: the row that was answered last. */
interface PageCursor {
  /** The number of the page that begins here, for those who count them. */
  page: number
  /** What the row has for each term of the order. */
  keys: (string | null)[]
}

const maxCursorLength = 2000
const checksumLength = 16
const invalidCursor =
  'is not a place in this list: take it unchanged from the page before, with the same filters and order'

/**
 * A cursor as it goes out. `list` says which list it belongs to: the resource, its filters and its order. It holds what the
 * caller was shown, and its checksum keeps mistakes out; it is no signature, because it opens nothing that a filter would
 * not. Undefined where the row's values are too long for one.
 */
export function serializeCursor(list: string, { page, keys }: PageCursor): string | undefined {
  const payload = Buffer.from(JSON.stringify([page, ...keys])).toString('base64url')
  const text = `${payload}.${checksum(list, payload)}`
  return text.length <= maxCursorLength ? text : undefined
}

/** Refuses a cursor that is not one of this list. `keys` is how many values it must hold. */
export function parseCursor(list: string, text: string, keys: number): PageCursor {
  const [payload = '', sum, ...rest] = text.split('.')
  if (text.length > maxCursorLength || rest.length > 0 || sum !== checksum(list, payload)) rejectTerm(invalidCursor)
  const [page, ...values] = parsePayload(payload)
  const sound = Number.isSafeInteger(page) && values.every((value) => value === null || typeof value === 'string')
  if (!sound || values.length !== keys) rejectTerm(invalidCursor)
  return { page: page as number, keys: values as (string | null)[] }
}

function parsePayload(payload: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

const checksum = (list: string, payload: string): string =>
  createHash('sha256').update(`${list}\0${payload}`).digest('base64url').slice(0, checksumLength)
