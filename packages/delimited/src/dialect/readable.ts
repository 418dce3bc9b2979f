import { isUtf8 } from 'node:buffer'
import { maxColumns } from '../limits.ts'
import { DelimitedProblem } from '../problem.ts'
import { badByte } from '../utf8.ts'
import type { ParsedSample, SampleRecord } from './parse.ts'
import type { ReadableFile } from './sample.ts'
import type { Table } from './table.ts'

const longestLabel = 1000

/** Throws DelimitedProblem if the file has no rows. `skipsText`: the option skipLines leaves out lines with text. */
export function assertRows({ records }: ParsedSample, file: ReadableFile, skipsText: boolean): void {
  if (records.length > 0) return
  if (skipsText)
    throw new DelimitedProblem(
      'LINES_ALL_SKIPPED',
      `${file.name} has no row after the lines that the option skipLines leaves out. Lower skipLines.`,
    )
  throw new DelimitedProblem('EMPTY_FILE', `${file.name} is empty; upload a file with at least a header row.`)
}

/** Throws DelimitedProblem where the header, or without one every row of the sample, cannot be read, or where there are too many columns. */
export function assertReadable({ records }: ParsedSample, table: Table, sample: Uint8Array, file: ReadableFile): void {
  const { start, headerLines, labels, width } = table
  const { line } = records[start]!
  if (headerLines === 0 && records.slice(start).every(({ count }) => count === 0)) {
    const text = `${file.name} has no row that can be read; check its encoding and its quotes.`
    throw new DelimitedProblem('NO_READABLE_ROW', text)
  }
  const refuse = (why: string, where = line) => {
    const text = `The header of ${file.name} in line ${where} cannot be read: ${why}. If it has no header row, say so in the options.`
    return new DelimitedProblem('HEADER_NOT_READABLE', text)
  }
  for (const record of records.slice(start, start + headerLines)) {
    const why = whyUnreadable(record, sample)
    if (why) throw refuse(why, record.line)
  }
  if (width > maxColumns) {
    const text = `${file.name} has ${width} columns in line ${line}; a table holds at most ${maxColumns}.`
    throw new DelimitedProblem('TOO_MANY_COLUMNS', text)
  }
  const long = labels.findIndex((label) => label.length > longestLabel)
  if (long < 0) return
  throw refuse(`label ${long + 1} is longer than ${longestLabel} characters, so the first row is probably not a header`)
}

function whyUnreadable({ from, next, fault }: SampleRecord, sample: Uint8Array): string | undefined {
  const bytes = sample.subarray(from, next)
  if (bytes.includes(0)) return 'it holds NUL bytes; if the file is UTF-16, save it as UTF-8'
  if (fault === 'UNCLOSED_QUOTE') return 'a quote in it is opened and never closed'
  if (fault) return 'it has text after a closing quote; a quote inside a quoted field has to be doubled'
  if (isUtf8(bytes)) return undefined
  return `it is not valid UTF-8 (${badByte(bytes, 0, bytes.length)}); save the file as UTF-8, in Excel as "CSV UTF-8", or say its encoding with the option "encoding"`
}
