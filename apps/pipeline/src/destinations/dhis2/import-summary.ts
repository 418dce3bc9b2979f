import type { ValueItem } from '../chunks.ts'
import type { RejectedRow } from '../push.ts'

/** The import summary of one request. */
export interface ImportSummary {
  status: 'SUCCESS' | 'WARNING' | 'ERROR'
  imported: number
  updated: number
  ignored: number
  deleted: number
  conflicts: Conflict[]
  /** Indexes, from 0, of the rejected values of the request; undefined if this version of DHIS2 does not return them. */
  rejected: number[] | undefined
  description: string | undefined
}

export interface Conflict {
  reason: string
  /** The field that the conflict concerns, if DHIS2 names it. */
  property: string | undefined
  /** The id or the value that the conflict concerns. */
  object: string | undefined
  /** Indexes of values of the request, from 0; empty if this version of DHIS2 does not return them. */
  indexes: number[]
}

type Json = Readonly<Record<string, unknown>>

/**
 * Returns the import summary of a response: the response itself (before 2.38) or a part of a web message. Undefined if the
 * response contains no summary. Callers read the success from the summary and not from the HTTP status, because DHIS2 also
 * returns 409 when it stored values.
 */
export function importSummaryOf(answer: unknown): ImportSummary | undefined {
  const summary = objectOf(objectOf(answer)?.['response']) ?? objectOf(answer)
  const counts = objectOf(summary?.['importCount'])
  if (!summary || !counts) return undefined
  const conflicts = arrayOf(summary['conflicts']).map(conflictOf)
  const said = String(summary['status'])
  return {
    status: said === 'ERROR' ? 'ERROR' : said === 'WARNING' || conflicts.length > 0 ? 'WARNING' : 'SUCCESS',
    imported: countOf(counts['imported']),
    updated: countOf(counts['updated']),
    ignored: countOf(counts['ignored']),
    deleted: countOf(counts['deleted']),
    conflicts,
    rejected: Array.isArray(summary['rejectedIndexes']) ? indexesOf(summary['rejectedIndexes']) : undefined,
    description: textOf(summary['description']),
  }
}

/** Returns the message of a response that is not a summary. */
export function messageOf(answer: unknown): string | undefined {
  const message = objectOf(answer)
  const response = objectOf(message?.['response'])
  const [first] = arrayOf(response?.['conflicts'] ?? message?.['conflicts']).map(conflictOf)
  const said = textOf(message?.['message']) ?? textOf(response?.['description']) ?? textOf(message?.['description'])
  const code = textOf(message?.['errorCode']) ?? textOf(response?.['errorCode'])
  const parts = [code && said ? `${code}: ${said}` : said, first?.reason].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(' ') : undefined
}

function conflictOf(given: unknown): Conflict {
  const conflict = objectOf(given) ?? {}
  const code = textOf(conflict['errorCode'])
  const reason = textOf(conflict['value']) ?? 'DHIS2 gives no reason.'
  return {
    reason: code ? `${code}: ${reason}` : reason,
    property: textOf(conflict['property']),
    object: textOf(conflict['object']),
    indexes: indexesOf(arrayOf(conflict['indexes'])),
  }
}

const objectOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
const arrayOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const countOf = (value: unknown): number => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0)
const indexesOf = (values: unknown[]): number[] =>
  values.filter((value): value is number => Number.isSafeInteger(value) && Number(value) >= 0)

interface Judged {
  /** One for each reason of a row, up to the maximum. */
  rows: RejectedRow[]
  /** Number of rejected rows. */
  rejected: number
}

const gaveNone = 'DHIS2 gives no reason.'

/**
 * Maximum number of reasons of one request: a conflict of an old DHIS2 can concern every row, and a response can have
 * thousands of conflicts.
 */
const mostReasons = 20_000

/** Returns the rejected values of a summary and the reasons. */
export function judged(summary: ImportSummary, items: readonly ValueItem[], words: (text: string) => string): Judged {
  const blamed = new Set<number>()
  const rows: RejectedRow[] = []
  const placesOf = placing(items)

  function blame(index: number, reason: string, column?: string): void {
    blamed.add(index)
    keep(index, reason, column)
  }
  function keep(index: number, reason: string, column?: string): void {
    const { line, json: raw } = items[index]!
    if (rows.length < mostReasons) rows.push({ line, ...(column && { column }), reason, raw })
  }

  for (const conflict of summary.conflicts) {
    const indexes = placesOf(conflict)
    const column = conflict.property && words(conflict.property).slice(0, 100)
    const reason = words(indexes.length === 0 ? about(conflict) : conflict.reason)
    for (const index of indexes) blame(index, reason, column)
    // A conflict that concerns no row is stored with the first row of the request.
    if (indexes.length === 0) keep(0, reason, column)
  }
  const named = summary.rejected && new Set(summary.rejected.filter((index) => index < items.length))
  for (const index of named ?? []) if (!blamed.has(index)) blame(index, gaveNone)
  const vague = summary.conflicts.length > 0 ? Math.min(summary.ignored, items.length) : 0
  return { rows, rejected: named ? named.size : blamed.size || vague }
}

const about = ({ object, reason }: Conflict): string =>
  object !== undefined && !reason.includes(object) ? `${object}: ${reason}` : reason

/**
 * Returns a function that finds the values of a conflict. Before 2.38, a conflict names an id or a value and concerns every
 * row that has it.
 */
function placing(items: readonly ValueItem[]): (conflict: Conflict) => readonly number[] {
  let holders: Map<string, number[]> | undefined

  return ({ indexes, object }) => {
    if (indexes.length > 0) return [...new Set(indexes)].filter((index) => index < items.length)
    if (object === undefined) return []
    holders ??= holdersOf(items)
    return holders.get(object) ?? []
  }
}

function holdersOf(items: readonly ValueItem[]): Map<string, number[]> {
  const holders = new Map<string, number[]>()
  items.forEach(({ json }, index) => {
    for (const text of new Set(Object.values(JSON.parse(json) as object).map(String))) {
      const known = holders.get(text)
      if (known) known.push(index)
      else holders.set(text, [index])
    }
  })
  return holders
}
