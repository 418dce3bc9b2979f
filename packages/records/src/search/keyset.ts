import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { dateTime } from './values.ts'
import type { OrderTerm } from './order.ts'
import type { PropertyType } from './properties.ts'
import { checkText, refuse } from './violations.ts'
import { createHash } from 'node:crypto'

/** The value of a term in a row, as text that `valueIn` reads back to the same value; null for a missing one. */
export function keyOf({ key, type }: OrderTerm): RawBuilder<string | null> {
  // Without a zone, so that no setting of the session shows in it: `dateTime` takes it for UTC.
  const value = type === 'date-time' ? sql`(${key} at time zone 'UTC')` : key
  return sql`to_jsonb(${value}) #>> '{}'`
}

/** The rows that come after the one with these values, in an order that ends in something unique and never missing. */
export function after(terms: readonly OrderTerm[], keys: readonly (string | null)[]): RawBuilder<SqlBool> {
  const values = terms.map((term, at) => valueIn(term, keys[at] ?? null))
  const uniform = terms.every(({ required, descending }) => required && descending === terms[0]!.descending)
  if (!uniform) return sql`(${steps(terms, values)})`
  // One comparison of rows, which an index answers whole.
  const sides = [terms.map(({ key }) => key), values.map((value) => value ?? refuse('has no value where one must be'))]
  const [rows, bound] = sides.map((side) => sql`(${sql.join(side)})`)
  return sql`${rows} ${sql.raw(terms[0]!.descending ? '<' : '>')} ${bound}`
}

type Value = RawBuilder<unknown> | undefined

/** Later by the first term, or equal in it and later by the rest. */
function steps([term, ...rest]: readonly OrderTerm[], [value, ...values]: readonly Value[]): RawBuilder<SqlBool> {
  if (!term) return sql`false`
  const { key, required } = term
  const further = steps(rest, values)
  // Missing ones are last: behind one of them come only others, as far as the rest says.
  if (!value) return sql`(${key} is null and (${further}))`
  const later = sql<SqlBool>`${key} ${sql.raw(term.descending ? '<' : '>')} ${value}`
  const orMissing = required ? later : sql<SqlBool>`${later} or ${key} is null`
  return sql`${orMissing} or (${key} = ${value} and (${further}))`
}

const forms: Partial<Record<PropertyType, RegExp>> = {
  uid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  number: /^-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/,
  boolean: /^(true|false)$/,
}

/** A value as a bind parameter. Refuses what PostgreSQL would fail on: the text comes from outside. */
function valueIn({ type }: OrderTerm, text: string | null): Value {
  if (text === null) return undefined
  checkText(text)
  if (forms[type]?.test(text) === false) refuse('holds what is no value of this order')
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
interface Cursor {
  /** The number of the page that begins here, for those who count them. */
  page: number
  /** What the row has for each term of the order. */
  keys: (string | null)[]
}

const longest = 2000
const sumLength = 16
const refusal = 'is not a place in this list: take it unchanged from the page before, with the same filters and order'

/**
 * A cursor as it goes out. `list` says which list it belongs to: the resource, its filters and its order. It holds what the
 * caller was shown, and its checksum keeps mistakes out; it is no signature, because it opens nothing that a filter would
 * not. Undefined where the row's values are too long for one.
 */
export function cursorText(list: string, { page, keys }: Cursor): string | undefined {
  const payload = Buffer.from(JSON.stringify([page, ...keys])).toString('base64url')
  const text = `${payload}.${sumOf(list, payload)}`
  return text.length <= longest ? text : undefined
}

/** Refuses a cursor that is not one of this list. `keys` is how many values it must hold. */
export function readCursor(list: string, text: string, keys: number): Cursor {
  const [payload = '', sum, ...rest] = text.split('.')
  if (text.length > longest || rest.length > 0 || sum !== sumOf(list, payload)) refuse(refusal)
  const [page, ...values] = parsed(payload)
  const sound = Number.isSafeInteger(page) && values.every((value) => value === null || typeof value === 'string')
  if (!sound || values.length !== keys) refuse(refusal)
  return { page: page as number, keys: values as (string | null)[] }
}

function parsed(payload: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

const sumOf = (list: string, payload: string): string =>
  createHash('sha256').update(`${list}\0${payload}`).digest('base64url').slice(0, sumLength)
