import { DEBRIS, EMPTY, INDENTED, NUMBER, TEXT, TIME } from './cell-kind.ts'
import type { SampleRecord } from './parse-sample.ts'

/** Share of a column's values that have to be numbers or times for the column to speak. */
const clearMajority = 0.9

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
  if (countsUp({ record, texts }) && !sample.some(countsUp)) return 1
  let votes = 0
  for (const [index, kind] of record.kinds.entries()) {
    const column = sample.filter((row) => row.record.kinds[index] !== undefined && row.record.kinds[index] !== EMPTY)
    if (kind === EMPTY || column.length === 0) continue
    votes += voteOfColumn(
      kind,
      texts[index]!,
      column.map((row) => ({ kind: row.record.kinds[index]!, text: row.texts[index]! })),
    )
  }
  return votes
}

function voteOfColumn(kind: number, label: string, column: readonly { kind: number; text: string }[]): number {
  const typed = dominantKind(column)
  // A date over numbers is a label too.
  if (typed === NUMBER && kind === TIME) return 1
  if (typed !== undefined) return isBare(kind) ? -1 : 1
  if (isBare(kind)) return 0
  if (column.some(({ text }) => text === label)) return -1
  const [first] = column
  const alike = column.length >= 3 && column.every(({ text }) => text.length === first!.text.length)
  return alike && label.length !== first!.text.length ? 0.5 : 0
}

const isBare = (kind: number) => kind === NUMBER || kind === TIME

function dominantKind(column: readonly { kind: number }[]): number | undefined {
  for (const wanted of [NUMBER, TIME]) {
    if (column.filter(({ kind }) => kind === wanted).length >= clearMajority * column.length) return wanted
  }
  return undefined
}

/**
 * `country, 2019, 2020, 2021`, `unit, 202411, 202412, 202501` or `unit, 1, 2, 3, 4`: numbers that count up behind a text are
 * labels of years, months or weeks, not values.
 */
function countsUp({ record: { kinds }, texts }: HeaderCandidate): boolean {
  const numbers = texts.filter((_, index) => kinds[index] === NUMBER)
  if (!isText(kinds[0]!) || numbers.length < 2) return false
  const areYears = numbers.every((one) => /^(19|20)\d\d$/.test(one))
  const areMonths = numbers.every((one) => /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(one))
  const areCounted = numbers.length > 3 && (numbers[0] === '1' || numbers[0] === '0')
  if (!areYears && !areMonths && !areCounted) return false
  const places = numbers.map((one) => (areMonths ? Number(one.slice(0, 4)) * 12 + Number(one.slice(4)) : Number(one)))
  const steps = places.slice(1).map((place, index) => place - places[index]!)
  return Math.abs(steps[0]!) === 1 && steps.every((step) => step === steps[0])
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
