import type { ValueItem } from '../chunks.ts'
import type { RejectedRow } from '../push.ts'

/** What DHIS2 did with the values of one request. */
export interface ImportSummary {
  status: 'SUCCESS' | 'WARNING' | 'ERROR'
  imported: number
  updated: number
  ignored: number
  deleted: number
  conflicts: Conflict[]
  /** Which values of the request were refused, from 0; undefined where this version of DHIS2 does not say. */
  rejected: number[] | undefined
  description: string | undefined
}

export interface Conflict {
  reason: string
  /** The field that it is about, where it says so. */
  property: string | undefined
  /** What it is about: an id or a value. */
  object: string | undefined
  /** Values of the request, from 0; none where this version of DHIS2 does not say. */
  indexes: number[]
}

type Json = Readonly<Record<string, unknown>>

/**
 * The summary in an answer: as the answer itself (before 2.38) or inside a web message. Undefined where there is none. Whether
 * the request succeeded is read from here and not from its HTTP status: 409 comes although values were stored.
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

/** The words of an answer that is no summary. */
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
  /** One for each reason that a row was given, as far as they are kept. */
  rows: RejectedRow[]
  /** How many rows were not taken. */
  rejected: number
}

const gaveNone = 'DHIS2 gives no reason.'

/** Reasons of one request: a conflict of an old DHIS2 may stand for every row, and there may be thousands of them. */
const mostReasons = 20_000

/** What a summary says of the values that were sent: which were not taken, and why. */
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
    // About no row in particular: it is kept with the first of the request.
    if (indexes.length === 0) keep(0, reason, column)
  }
  const named = summary.rejected && new Set(summary.rejected.filter((index) => index < items.length))
  for (const index of named ?? []) if (!blamed.has(index)) blame(index, gaveNone)
  const vague = summary.conflicts.length > 0 ? Math.min(summary.ignored, items.length) : 0
  return { rows, rejected: named ? named.size : blamed.size || vague }
}

const about = ({ object, reason }: Conflict): string =>
  object !== undefined && !reason.includes(object) ? `${object}: ${reason}` : reason

/** Which values a conflict is about. Before 2.38 it names an id or a value, and stands for every row that has it. */
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
