import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { dateTime } from './parse-filter-values.ts'
import type { OrderTerm } from './order.ts'
import type { PropertyType } from './properties.ts'
import { assertStorableText, rejectTerm } from './invalid-search.ts'
import { createHash } from 'node:crypto'

/**
 * Returns SQL for the value of an order term as text, which `bindKey` converts back. The result is null if the value is
 * missing.
 */
export function keyText({ key, type }: OrderTerm): RawBuilder<string | null> {
  // Removes the time zone, so that the text does not depend on the session. `dateTime` reads the text as UTC.
  const value = type === 'date-time' ? sql`(${key} at time zone 'UTC')` : key
  return sql`to_jsonb(${value}) #>> '{}'`
}

/**
 * Returns the condition for the rows after the row with these sort keys. The last order term must be unique and not
 * null. Rejects keys that PostgreSQL cannot convert to the types of the terms.
 */
export function buildAfterKeysCondition(
  terms: readonly OrderTerm[],
  keys: readonly (string | null)[],
): RawBuilder<SqlBool> {
  const values = terms.map((term, index) => bindKey(term, keys[index] ?? null))
  const { descending } = terms[0]!
  const haveSameDirection = terms.every((term) => term.descending === descending)
  const areNeverNull = terms.every(({ required }) => required)
  const canCompareAsRow = haveSameDirection && areNeverNull
  if (!canCompareAsRow) return sql`(${buildLexicographicCondition(terms, values)})`
  // A comparison of rows, such as `(name, id) > ('a', 7)`, can use an index.
  const keysOfRow = sql.join(terms.map(({ key }) => key))
  const keysOfCursor = sql.join(values.map((value) => value ?? rejectTerm('lacks a value that the order requires')))
  return sql`(${keysOfRow}) ${sql.raw(descending ? '<' : '>')} (${keysOfCursor})`
}

type KeysetValue = RawBuilder<unknown> | undefined

/**
 * Returns the condition for the rows after these values, with a comparison for each term, such as `a > 1 or (a = 1 and
 * b > 2)`: a row comes later by the first term, or it is equal there and comes later by the other terms. A value of
 * undefined means null.
 */
function buildLexicographicCondition(
  [term, ...rest]: readonly OrderTerm[],
  [value, ...values]: readonly KeysetValue[],
): RawBuilder<SqlBool> {
  if (!term) return sql`false`
  const { key, required } = term
  const isLaterByRest = buildLexicographicCondition(rest, values)
  // Nulls come last, so only further nulls can follow a null.
  if (!value) return sql`(${key} is null and (${isLaterByRest}))`
  const hasLaterValue = sql<SqlBool>`${key} ${sql.raw(term.descending ? '<' : '>')} ${value}`
  const isLaterByTerm = required ? hasLaterValue : sql<SqlBool>`${hasLaterValue} or ${key} is null`
  return sql`${isLaterByTerm} or (${key} = ${value} and (${isLaterByRest}))`
}

const valuePatterns: Partial<Record<PropertyType, RegExp>> = {
  uid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  number: /^-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/,
  boolean: /^(true|false)$/,
}

/** Returns a sort key as a bind parameter, or undefined for null. Rejects text that PostgreSQL cannot convert. */
function bindKey({ type }: OrderTerm, text: string | null): KeysetValue {
  if (text === null) return undefined
  assertStorableText(text)
  if (valuePatterns[type]?.test(text) === false) rejectTerm('contains an invalid value of this order')
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

/** A position in a list: the sort keys of the last row of the previous page. */
export interface PageCursor {
  /** The number of the page that starts here. */
  page: number
  /** The row's value for each order term. */
  keys: (string | null)[]
}

const maxCursorLength = 2000
const checksumLength = 16
const invalidCursor =
  'is not a cursor of this list: send the cursor of the previous page unchanged, with the same filters and order'

/**
 * Serializes a cursor. `list` identifies the resource, filters and order. The checksum detects mistakes but is not a
 * signature, because a cursor allows no more than a filter. Returns undefined if the row's values are too long.
 */
export function serializeCursor(list: string, { page, keys }: PageCursor): string | undefined {
  const payload = Buffer.from(JSON.stringify([page, ...keys])).toString('base64url')
  const text = `${payload}.${computeChecksum(list, payload)}`
  return text.length <= maxCursorLength ? text : undefined
}

/**
 * Parses a cursor. Rejects an invalid cursor and the cursor of another list. `keyCount` is the expected number of keys.
 */
export function parseCursor(list: string, text: string, keyCount: number): PageCursor {
  const [payload = '', checksum, ...furtherParts] = text.split('.')
  const hasForm = text.length <= maxCursorLength && furtherParts.length === 0
  if (!hasForm || checksum !== computeChecksum(list, payload)) rejectTerm(invalidCursor)
  const [page, ...keys] = parsePayload(payload)
  const areKeys = keys.length === keyCount && keys.every((key) => key === null || typeof key === 'string')
  if (!Number.isSafeInteger(page) || !areKeys) rejectTerm(invalidCursor)
  return { page: page as number, keys: keys as (string | null)[] }
}

/** Returns the page number and the keys in the payload of a cursor. Returns an empty array for an invalid payload. */
function parsePayload(payload: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

const computeChecksum = (list: string, payload: string): string =>
  createHash('sha256').update(`${list}\0${payload}`).digest('base64url').slice(0, checksumLength)
