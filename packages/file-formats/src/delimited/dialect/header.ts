import { MISSPLIT_CELL, EMPTY_CELL, INDENTED_CELL, NUMBER_CELL, TEXT_CELL, TIME_CELL } from './cell-kind.ts'
import type { SampleRecord } from './file-sample.ts'

/** The minimum share of a column's values that must be numbers, or times, to determine the kind of the column. */
const minShareOfKind = 0.9

/** A record that may be the header, and its values as text. */
export interface HeaderCandidate {
  record: SampleRecord
  texts: readonly string[]
}

/**
 * Returns the sum of the columns' votes on whether the candidate is the header of the rows. A positive sum means that
 * it is. The label of a column is its value in the candidate. The vote of a column is
 * - 1 if the label is text above numbers or times, or a time above numbers,
 * - 0.5 if the label differs in length from at least three values that are all equally long, as codes are,
 * - -1 if the label and most values are numbers or times, or if the label occurs among the values,
 * - 0 otherwise, and for an empty label or a column without values.
 *
 * The result is 1 if the cells of the candidate form a sequence, such as years, and the cells of no row do.
 */
export function sumHeaderVotes({ record, texts }: HeaderCandidate, rows: readonly HeaderCandidate[]): number {
  // In concatenated files, the header occurs again between the rows. Such repetitions do not count as rows.
  const distinctRows = rows.filter((row) => row.texts.some((text, index) => text !== texts[index]))
  if (isConsecutiveSequence({ record, texts }) && !distinctRows.some(isConsecutiveSequence)) return 1
  let votes = 0
  for (const [index, kind] of record.kinds.entries()) {
    const rowsWithValue = distinctRows.filter(
      (row) => row.record.kinds[index] !== undefined && row.record.kinds[index] !== EMPTY_CELL,
    )
    if (kind === EMPTY_CELL || rowsWithValue.length === 0) continue
    const values = rowsWithValue.map((row) => ({ kind: row.record.kinds[index]!, text: row.texts[index]! }))
    votes += voteOfColumn(kind, texts[index]!, values)
  }
  return votes
}

/** Returns the vote of a column for its label; see `sumHeaderVotes`. */
function voteOfColumn(labelKind: number, label: string, values: readonly { kind: number; text: string }[]): number {
  const valueKind = dominantKind(values)
  // A time above numbers is a label, such as a date above the counts of that day.
  if (valueKind === NUMBER_CELL && labelKind === TIME_CELL) return 1
  if (valueKind !== undefined) return isNumberOrTime(labelKind) ? -1 : 1
  if (isNumberOrTime(labelKind)) return 0
  if (values.some(({ text }) => text === label)) return -1
  const valueLength = values[0]!.text.length
  const areEquallyLong = values.length >= 3 && values.every(({ text }) => text.length === valueLength)
  return areEquallyLong && label.length !== valueLength ? 0.5 : 0
}

const isNumberOrTime = (kind: number) => kind === NUMBER_CELL || kind === TIME_CELL

/** Returns NUMBER_CELL or TIME_CELL if nearly all values are of this kind, otherwise undefined. */
function dominantKind(values: readonly { kind: number }[]): number | undefined {
  return [NUMBER_CELL, TIME_CELL].find(
    (kind) => values.filter((value) => value.kind === kind).length >= minShareOfKind * values.length,
  )
}

/**
 * True if the first cell is a text and the numbers after it count up or down in steps of one, as in
 * `country, 2019, 2020, 2021`, `unit, 202411, 202412, 202501` or `unit, 1, 2, 3, 4`. They are labels for years, months
 * or weeks, not values.
 */
function isConsecutiveSequence({ record: { kinds }, texts }: HeaderCandidate): boolean {
  const numbers = texts.filter((_, index) => kinds[index] === NUMBER_CELL)
  if (!isTextKind(kinds[0]!) || numbers.length < 2) return false
  const areYears = numbers.every((text) => /^(19|20)\d\d$/.test(text))
  const areMonths = numbers.every((text) => /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(text))
  const startAtZeroOrOne = numbers.length > 3 && (numbers[0] === '1' || numbers[0] === '0')
  if (!areYears && !areMonths && !startAtZeroOrOne) return false
  const monthNumber = (text: string) => Number(text.slice(0, 4)) * 12 + Number(text.slice(4))
  const values = numbers.map((text) => (areMonths ? monthNumber(text) : Number(text)))
  const steps = values.slice(1).map((value, index) => value - values[index]!)
  return Math.abs(steps[0]!) === 1 && steps.every((step) => step === steps[0])
}

export const isTextKind = (kind: number) => kind === TEXT_CELL || kind === INDENTED_CELL || kind === MISSPLIT_CELL

/** True if all filled cells are texts, so that they can be labels, and at least one cell is filled. */
export function lookLikeLabels({ record }: HeaderCandidate): boolean {
  const filledKinds = record.kinds.filter((kind) => kind !== EMPTY_CELL)
  return filledKinds.length > 0 && filledKinds.every(isTextKind)
}

/**
 * True if a line below the header has neither labels nor values: its filled cells are all dashes, as databases print
 * them, or all tags of the Humanitarian Exchange Language (HXL), such as `#date +start`.
 */
export function isSeparatorLine({ texts }: HeaderCandidate): boolean {
  const filledTexts = texts.filter((text) => text.trim() !== '')
  const allMatch = (pattern: RegExp) => filledTexts.every((text) => pattern.test(text.trim()))
  return filledTexts.length > 0 && (allMatch(/^[-=]{2,}$/) || allMatch(/^#[a-z][\w]*(\s*\+\s*\w+)*$/i))
}

/** True if no two labels are equal, except empty ones. */
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
  const lastLine = lines.length - 1
  const filledLines = lines.map((line, index) => (index < lastLine ? fillEmptyCellsFromLeft(line, width) : line))
  return Array.from({ length: width }, (_, index) => {
    const labels = filledLines.map((line) => (line[index] ?? '').trim()).filter((label) => label !== '')
    return [...new Set(labels)].join(' ')
  })
}

/** Returns the texts of a line. Each empty cell gets the text of the nearest filled cell to its left. */
function fillEmptyCellsFromLeft(line: readonly string[], width: number): string[] {
  let previousText = ''
  return Array.from({ length: width }, (_, index) => {
    const text = (line[index] ?? '').trim()
    if (text !== '') previousText = text
    return previousText
  })
}
