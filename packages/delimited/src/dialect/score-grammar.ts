import { DEBRIS, EMPTY, INDENTED, NUMBER, TEXT, TIME } from './cell-kind.ts'
import type { ParsedSample, SampleRecord } from './parse-sample.ts'

/** How well a grammar explains a sample. */
export interface GrammarScore {
  /** 0–1; comparable between grammars of the same sample. */
  total: number
  /** Fields that most records have. */
  width: number
}

/** What a cell of each kind is worth: a sample cut at the right places is made of numbers, dates and clean words. */
const cellWorth: Record<number, number> = { [NUMBER]: 1, [TIME]: 1, [TEXT]: 0.8, [INDENTED]: 0.6, [DEBRIS]: 0.35 }

/** Characters that stand inside of values more often than between them. */
const delimiterTrust: Record<string, number> = { ':': 0.44, '^': 0.95, '~': 0.9, ' ': 0.5 }

/** What one column is worth beside several: it is always consistent, so that says nothing. */
const singleColumn = 0.4
const wholeTimes = 0.9
const severalFields = 0.4
/** Lines at the end that may be notes. */
const mostNotes = 5
/** A file usually begins with its table; a reading under which it does not has to be much better otherwise. */
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
    // What is a time as a whole was not meant to be cut at its colons.
    const worthOfOne = times > 0.9 * alike.length ? wholeTimes : singleColumn
    return { total: (worthOfOne * quality * alike.length) / records.length, width }
  }
  const table = withoutTitles(records)
  const start = startsWithTable(records, width) ? 1 : startsWithLabels(table, width) ? labelledStart : lateStart
  const total = widthConsistency(table, width) * quality * (width / (width + 0.5)) * start
  return { total: total * (delimiterTrust[String.fromCharCode(grammar.delimiter)] ?? 1), width }
}

/** Where rows of many widths follow a header of several fields, rejecting them is better than loading one column of everything. */
function widthConsistency(table: readonly SampleRecord[], width: number): number {
  const alike = table.filter(({ count }) => count === width).length / table.length
  const several = table.filter(({ count }) => count > 1).length / table.length
  return Math.max(alike ** 2, table[0]!.count > 1 ? severalFields * several : 0)
}

/** Lines of one field above and below a table say nothing about how consistent it is. */
function withoutTitles(records: readonly SampleRecord[]): readonly SampleRecord[] {
  const first = records.findIndex(({ count }) => count !== 1)
  const last = records.findLastIndex(({ count }) => count !== 1)
  return records.slice(first, Math.max(last + 1, records.length - mostNotes))
}

/** The number of fields that most records have; among equals the first, unless it is a title's or a note's one field. */
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
  // In a file of a few lines with as many notes as rows, or ragged ones only, its first line counts.
  return most * 2 <= records.length && width === 1 ? Math.max(1, records[0]!.count) : width
}

/** The first record may lack or have a field: a header without a name for row numbers, or with a delimiter at its end. */
function startsWithTable([first]: readonly SampleRecord[], width: number): boolean {
  return first !== undefined && (first.count === width || (first.count > 1 && Math.abs(first.count - width) === 1))
}

/** Behind titles a table that begins with text over numbers is one for sure. */
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
