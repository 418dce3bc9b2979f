import { DEBRIS, EMPTY, INDENTED, NUMBER, TEXT, TIME } from './cell-kind.ts'
import type { ParsedSample, SampleRecord } from './parse-sample.ts'

/** How well a grammar explains a sample. */
export interface GrammarScore {
  /** From 0 to 1; comparable between grammars of the same sample. */
  total: number
  /** The number of fields of most records. */
  width: number
}

/** The worth of a cell by its kind. A correctly split sample has numbers, dates and clean words. */
const cellWorth: Record<number, number> = { [NUMBER]: 1, [TIME]: 1, [TEXT]: 0.8, [INDENTED]: 0.6, [DEBRIS]: 0.35 }

/** Characters that occur more often in values than between them. */
const delimiterTrust: Record<string, number> = { ':': 0.44, '^': 0.95, '~': 0.9, ' ': 0.5 }

/** The score of a single column: it is always consistent, which proves nothing. */
const singleColumn = 0.4
const wholeTimes = 0.9
const severalFields = 0.4
/** The most lines at the end that can be notes. */
const mostNotes = 5
/** A file usually begins with its table. A grammar for which it does not needs a much better score otherwise. */
const lateStart = 0.45
const labelledStart = 0.75

export function scoreGrammar(parsed: ParsedSample): GrammarScore {
  const { records, grammar } = parsed
  if (records.length === 0) return { total: 0, width: 1 }
  const width = usualWidth(records)
  const quality = cellQuality(records, width)
  if (width === 1) {
    const alike = records.filter(({ count }) => count === 1)
    const times = alike.filter(({ kinds }) => kinds[0] === TIME).length
    // A colon inside a time does not separate fields.
    const worthOfOne = times > 0.9 * alike.length ? wholeTimes : singleColumn
    return { total: (worthOfOne * quality * alike.length) / records.length, width }
  }
  const table = withoutTitles(records)
  const start = startsWithTable(records, width) ? 1 : startsWithLabels(table, width) ? labelledStart : lateStart
  const total = widthConsistency(table, width) * quality * (width / (width + 0.5)) * start
  return { total: total * (delimiterTrust[String.fromCharCode(grammar.delimiter)] ?? 1), width }
}

/** If rows of different widths follow a header of several fields, rejecting them is better than loading one column. */
function widthConsistency(table: readonly SampleRecord[], width: number): number {
  const alike = table.filter(({ count }) => count === width).length / table.length
  const several = table.filter(({ count }) => count > 1).length / table.length
  return Math.max(alike ** 2, table[0]!.count > 1 ? severalFields * several : 0)
}

/** Leaves out lines of one field above and below the table, which say nothing about its consistency. */
function withoutTitles(records: readonly SampleRecord[]): readonly SampleRecord[] {
  const first = records.findIndex(({ count }) => count !== 1)
  const last = records.findLastIndex(({ count }) => count !== 1)
  return records.slice(first, Math.max(last + 1, records.length - mostNotes))
}

/** Returns the number of fields of most records; on a tie, the first one that is not 1. */
export function usualWidth(records: readonly SampleRecord[]): number {
  const times = new Map<number, number>()
  for (const { count } of records) if (count > 0) times.set(count, (times.get(count) ?? 0) + 1)
  let width = 1
  let most = 0
  for (const [count, number] of times) {
    if (number < most || (number === most && width > 1)) continue
    width = count
    most = number
  }
  // In a short file with as many notes as rows, or with rows of different widths only, the first line counts.
  return most * 2 <= records.length && width === 1 ? Math.max(1, records[0]!.count) : width
}

/** The first record may have one field too few or too many: a header without a name for row numbers, or with a delimiter at its end. */
function startsWithTable([first]: readonly SampleRecord[], width: number): boolean {
  return first !== undefined && (first.count === width || (first.count > 1 && Math.abs(first.count - width) === 1))
}

/** After titles, text above numbers is certainly the start of a table. */
function startsWithLabels([first, second]: readonly SampleRecord[], width: number): boolean {
  if (first?.count !== width || second?.count !== width) return false
  const isTyped = (kind: number) => kind === NUMBER || kind === TIME
  return first.kinds.every((kind) => kind === TEXT || kind === INDENTED) && second.kinds.some(isTyped)
}

function cellQuality(records: readonly SampleRecord[], width: number): number {
  let sum = 0
  let cells = 0
  for (const { count, kinds } of records) {
    if (count !== width) continue
    for (const kind of kinds) {
      if (kind === EMPTY) continue
      sum += cellWorth[kind]!
      cells++
    }
  }
  return cells === 0 ? cellWorth[TEXT]! : sum / cells
}
