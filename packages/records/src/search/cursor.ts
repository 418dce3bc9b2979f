import { createHash } from 'node:crypto'
import { refuse } from './violations.ts'

/** A place in a list: the row that was answered last. */
export interface Cursor {
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
