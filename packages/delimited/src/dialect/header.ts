import { DEBRIS, EMPTY, INDENTED, NUMBER, TEXT, TIME } from './cells.ts'
import type { SampleRecord } from './parse.ts'

/** Share of a column's values that have to be numbers or times for the column to speak. */
const clearly = 0.9

/** A record and its values as text. */
export interface HeaderCandidate {
  record: SampleRecord
  texts: readonly string[]
}

/**
 * How much speaks for `candidate` being a header of the rows: each column says 1 where text stands over numbers or times, or over codes that
 * are all equally long; it says -1 where what stands on top is of the kind of what is below, or stands below again. 0 when nothing speaks.
 */
export function headerVotes({ record, texts }: HeaderCandidate, rows: readonly HeaderCandidate[]): number {
  // Where files were put one behind the other their headers stand among the rows, and speak for themselves.
  const sample = rows.filter((row) => row.texts.some((text, index) => text !== texts[index]))
  if (areYears(texts, record.kinds)) return 1
  let votes = 0
  for (const [index, kind] of record.kinds.entries()) {
    const column = sample.filter((row) => row.record.kinds[index] !== undefined && row.record.kinds[index] !== EMPTY)
    if (kind === EMPTY || column.length === 0) continue
    votes += vote(
      kind,
      texts[index]!,
      column.map((row) => ({ kind: row.record.kinds[index]!, text: row.texts[index]! })),
    )
  }
  return votes
}

function vote(kind: number, label: string, column: readonly { kind: number; text: string }[]): number {
  const typed = dominant(column)
  if (typed !== undefined) return kind === typed || isBare(kind) ? -1 : 1
  if (isBare(kind)) return 0
  if (column.some(({ text }) => text === label)) return -1
  const [first] = column
  const alike = column.length >= 3 && column.every(({ text }) => text.length === first!.text.length)
  return alike && label.length !== first!.text.length ? 0.5 : 0
}

const isBare = (kind: number) => kind === NUMBER || kind === TIME

function dominant(column: readonly { kind: number }[]): number | undefined {
  for (const wanted of [NUMBER, TIME]) {
    if (column.filter(({ kind }) => kind === wanted).length >= clearly * column.length) return wanted
  }
  return undefined
}

/** `country, 2019, 2020, 2021`: numbers that count up by one are labels of years, not values. */
function areYears(texts: readonly string[], kinds: Uint8Array): boolean {
  const years = texts.filter((_, index) => kinds[index] === NUMBER)
  if (years.length < 2 || !years.every((year) => /^(19|20)\d\d$/.test(year))) return false
  const steps = years.slice(1).map((year, index) => Number(year) - Number(years[index]))
  return Math.abs(steps[0]!) === 1 && steps.every((step) => step === steps[0]) && isText(kinds[0]!)
}

export const isText = (kind: number) => kind === TEXT || kind === INDENTED || kind === DEBRIS

/** Whether labels could be labels at all: text, and no value. */
export function lookLikeLabels({ record }: HeaderCandidate): boolean {
  const filled = record.kinds.filter((kind) => kind !== EMPTY)
  return filled.length > 0 && filled.every(isText)
}

/** A line under the header that is neither labels nor values: dashes, as databases print them, or the tags of the Humanitarian Exchange Language. */
export function isRule({ texts }: HeaderCandidate): boolean {
  const filled = texts.filter((text) => text.trim() !== '')
  const areAll = (pattern: RegExp) => filled.every((text) => pattern.test(text.trim()))
  return filled.length > 0 && (areAll(/^[-=]{2,}$/) || areAll(/^#[a-z][\w]*(\s*\+\s*\w+)*$/i))
}

/** Whether no label is there twice. */
export function areDistinct({ texts }: HeaderCandidate): boolean {
  const filled = texts.filter((text) => text !== '')
  return new Set(filled).size === filled.length
}

/**
 * Labels of a header of several records: what stands above stands before, as long as it is something else. A label above that has nothing
 * to its right is one for several columns: `control,,fire,` over `x,y,x,y` is control x, control y, fire x, fire y.
 */
export function joinLabels(lines: readonly (readonly string[])[]): string[] {
  const width = Math.max(...lines.map((line) => line.length))
  const spread = lines.map((line, level) => (level < lines.length - 1 ? spreadRight(line, width) : line))
  return Array.from({ length: width }, (_, index) => {
    const parts = spread.map((line) => (line[index] ?? '').trim()).filter((part) => part !== '')
    return parts.filter((part, at) => parts.indexOf(part) === at).join(' ')
  })
}

function spreadRight(line: readonly string[], width: number): string[] {
  let last = ''
  return Array.from({ length: width }, (_, index) => {
    last = (line[index] ?? '').trim() || last
    return last
  })
}
