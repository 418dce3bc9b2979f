import { MISSPLIT_CELL, EMPTY_CELL, INDENTED_CELL, NUMBER_CELL, TEXT_CELL, TIME_CELL } from './cell-kind.ts'
import type { SampleRecord } from './sample.ts'

/** A column votes only if at least this share of its values are numbers or times. */
const clearMajority = 0.9

/** A record that may be the header, and its values as text. */
export interface HeaderCandidate {
  record: SampleRecord
  texts: readonly string[]
}

/**
 * Returns the sum of the columns' votes on whether the candidate is the header of the rows. Positive: it is a header.
 * The label of a column is its value in the candidate. The vote of a column is
 * - 1 if the label is text above numbers or times, or a time above numbers,
 * - 0.5 if the label differs in length from at least three values that are all equally long, as codes are,
 * - -1 if the label and most values are numbers or times, or if the label occurs among the values,
 * - 0 otherwise.
 *
 * If the cells of the candidate form an ascending sequence, such as years, and those of no row do, the result is 1.
 */
export function sumHeaderVotes({ record, texts }: HeaderCandidate, rows: readonly HeaderCandidate[]): number {
  // In concatenated files, the header occurs again between the rows. Such repetitions do not count as rows.
  const distinctRows = rows.filter((row) => row.texts.some((text, index) => text !== texts[index]))
  if (countsUp({ record, texts }) && !distinctRows.some(countsUp)) return 1
  let votes = 0
  for (const [index, kind] of record.kinds.entries()) {
    const rowsWithValue = distinctRows.filter(
      (row) => row.record.kinds[index] !== undefined && row.record.kinds[index] !== EMPTY_CELL,
    )
    if (kind === EMPTY_CELL || rowsWithValue.length === 0) continue
    votes += voteOfColumn(
      kind,
      texts[index]!,
      rowsWithValue.map((row) => ({ kind: row.record.kinds[index]!, text: row.texts[index]! })),
    )
  }
  return votes
}

function voteOfColumn(kind: number, label: string, column: readonly { kind: number; text: string }[]): number {
  const valueKind = dominantKind(column)
  // A time above numbers is a label, such as a date above the counts of that day.
  if (valueKind === NUMBER_CELL && kind === TIME_CELL) return 1
  if (valueKind !== undefined) return isNumberOrTime(kind) ? -1 : 1
  if (isNumberOrTime(kind)) return 0
  if (column.some(({ text }) => text === label)) return -1
  const [first] = column
  const haveEqualLengths = column.length >= 3 && column.every(({ text }) => text.length === first!.text.length)
  return haveEqualLengths && label.length !== first!.text.length ? 0.5 : 0
}

const isNumberOrTime = (kind: number) => kind === NUMBER_CELL || kind === TIME_CELL

function dominantKind(column: readonly { kind: number }[]): number | undefined {
  for (const candidateKind of [NUMBER_CELL, TIME_CELL]) {
    if (column.filter(({ kind }) => kind === candidateKind).length >= clearMajority * column.length)
      return candidateKind
  }
  return undefined
}

/**
 * True if numbers after a text count up, as in `country, 2019, 2020, 2021`, `unit, 202411, 202412, 202501` or `unit, 1,
 * 2, 3, 4`. They are labels for years, months or weeks, not values.
 */
function countsUp({ record: { kinds }, texts }: HeaderCandidate): boolean {
  const numbers = texts.filter((_, index) => kinds[index] === NUMBER_CELL)
  if (!isTextKind(kinds[0]!) || numbers.length < 2) return false
  const areYears = numbers.every((one) => /^(19|20)\d\d$/.test(one))
  const areMonths = numbers.every((one) => /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(one))
  const areCounted = numbers.length > 3 && (numbers[0] === '1' || numbers[0] === '0')
  if (!areYears && !areMonths && !areCounted) return false
  const places = numbers.map((one) => (areMonths ? Number(one.slice(0, 4)) * 12 + Number(one.slice(4)) : Number(one)))
  const steps = places.slice(1).map((columnIndex, index) => columnIndex - places[index]!)
  return Math.abs(steps[0]!) === 1 && steps.every((step) => step === steps[0])
}

export const isTextKind = (kind: number) => kind === TEXT_CELL || kind === INDENTED_CELL || kind === MISSPLIT_CELL

/** True if the cells can be labels: they are texts. */
export function lookLikeLabels({ record }: HeaderCandidate): boolean {
  const filledKinds = record.kinds.filter((kind) => kind !== EMPTY_CELL)
  return filledKinds.length > 0 && filledKinds.every(isTextKind)
}

/**
 * True if a line below the header has neither labels nor values: dashes, as databases print them, or tags of the
 * Humanitarian Exchange Language (HXL).
 */
export function isSeparatorLine({ texts }: HeaderCandidate): boolean {
  const filledTexts = texts.filter((text) => text.trim() !== '')
  const areAll = (pattern: RegExp) => filledTexts.every((text) => pattern.test(text.trim()))
  return filledTexts.length > 0 && (areAll(/^[-=]{2,}$/) || areAll(/^#[a-z][\w]*(\s*\+\s*\w+)*$/i))
}

/** True if no two labels are equal. */
export function areDistinct({ texts }: HeaderCandidate): boolean {
  const filledTexts = texts.filter((text) => text !== '')
  return new Set(filledTexts).size === filledTexts.length
}

/**
 * Joins the labels of a header with several lines: first the upper label, then the lower one, unless both are equal. An
 * upper label also applies to the empty cells to its right: `control,,fire,` above `x,y,x,y` gives control x, control
 * y, fire x, fire y.
 */
export function joinLabels(lines: readonly (readonly string[])[]): string[] {
  const width = Math.max(...lines.map((line) => line.length))
  const spread = lines.map((line, level) => (level < lines.length - 1 ? spreadRight(line, width) : line))
  return Array.from({ length: width }, (_, index) => {
    const parts = spread.map((line) => (line[index] ?? '').trim()).filter((part) => part !== '')
    return parts.filter((part, position) => parts.indexOf(part) === position).join(' ')
  })
}

function spreadRight(line: readonly string[], width: number): string[] {
  let lastText = ''
  return Array.from({ length: width }, (_, index) => {
    lastText = (line[index] ?? '').trim() || lastText
    return lastText
  })
}
