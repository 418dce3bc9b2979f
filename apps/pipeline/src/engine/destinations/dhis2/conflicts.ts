import type { Item } from '../chunks.ts'
import type { RejectedRow } from '../rejected-row.ts'
import type { Conflict, ImportSummary } from './import-summary.ts'

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
export function judged(summary: ImportSummary, items: readonly Item[], words: (text: string) => string): Judged {
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
function placing(items: readonly Item[]): (conflict: Conflict) => readonly number[] {
  let holders: Map<string, number[]> | undefined

  return ({ indexes, object }) => {
    if (indexes.length > 0) return [...new Set(indexes)].filter((index) => index < items.length)
    if (object === undefined) return []
    holders ??= holdersOf(items)
    return holders.get(object) ?? []
  }
}

function holdersOf(items: readonly Item[]): Map<string, number[]> {
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
