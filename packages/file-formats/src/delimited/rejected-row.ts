import { isUtf8 } from 'node:buffer'
import { rawText, type RejectedRow } from '@sluice/row-stream'
import type { RecordReader } from './record-reader.ts'
import { HAS_DOUBLED_QUOTES } from './record-scanner.ts'
import { describeInvalidByte } from './text-file.ts'

const maxValueLength = 100

/** The expected shape of a row, for the reasons of rejected rows. */
export interface RowShape {
  labels: readonly string[]
  headerRow: boolean
  recordBytes: number
}

/**
 * Creates the report of a record that cannot be read as a row: its line, the reason and its text, and the label of the
 * faulty column if one is known.
 */
export function rejectFaultyRecord(records: RecordReader, shape: RowShape): RejectedRow {
  const { labels } = shape
  const row = {
    line: records.line,
    reason: rejectionReason(records, shape),
    raw: rawText(records.bytes.subarray(records.from, records.next)),
  }
  const column = labels[indexOfFaultyField(records, shape)]
  return column === undefined ? row : { ...row, column }
}

/**
 * Creates the report of a record with a value that does not fit the declared type of its column. `type` is the name of
 * that type.
 */
export function rejectUnfitValue(
  records: RecordReader,
  { labels }: RowShape,
  column: number,
  type: string,
): RejectedRow {
  const value = fieldText(records, column)
  const shortenedValue = value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value
  const reason = `${JSON.stringify(shortenedValue)} is not a valid ${type}`
  return {
    line: records.line,
    column: labels[column]!,
    reason,
    raw: rawText(records.bytes.subarray(records.from, records.next)),
  }
}

/** Returns the reason why a record was rejected, for users. Throws if the record has no fault. */
export function rejectionReason(records: RecordReader, { labels, headerRow, recordBytes }: RowShape): string {
  const { scanner } = records
  const quoteText = scanner.openQuote < 0 ? '' : `the quote opened in line ${records.lineOf(scanner.openQuote)}`
  switch (records.fault) {
    case 'RAGGED':
      return raggedReason(records, labels.length, headerRow ? 'header' : 'first row')
    case 'NOT_UTF8': {
      const byte = describeInvalidByte(records.bytes, records.from, records.next)
      return `a character cannot be read (${byte} is not UTF-8): save the file as UTF-8, in Excel as "CSV UTF-8", or set its encoding`
    }
    case 'NUL_BYTE':
      return 'holds a NUL byte, which no text has: the file is damaged'
    case 'UNCLOSED_QUOTE':
      return `${quoteText} is never closed: close it, or double it if it is part of the text`
    case 'TEXT_AFTER_QUOTE':
      return 'text after a closing quote: a quote that is part of the text has to be doubled'
    case 'TOO_LONG': {
      const limit = recordBytes >= 1024 * 1024 ? `${Math.floor(recordBytes / 1024 / 1024)} MB` : `${recordBytes} bytes`
      return quoteText ? `${quoteText} is not closed within ${limit}` : `longer than ${limit}`
    }
    case undefined:
      throw new Error('A record without a fault has no reason to be rejected')
  }
}

/**
 * Returns the reason for a wrong number of fields: the actual and expected numbers, and the probable cause.
 * `comparedRow` names the row that has the expected number of columns.
 */
function raggedReason({ scanner, trailing, grammar }: RecordReader, columnCount: number, comparedRow: string): string {
  const { count } = scanner
  if (trailing > 0 && count === columnCount + trailing) {
    return 'text after the last column, where all other rows have none'
  }
  if (trailing > 0 && count === columnCount) {
    return 'the delimiter after the last column is missing, so a value may be missing too'
  }
  const countText = `${count} ${count === 1 ? 'value' : 'values'} where the ${comparedRow} has ${columnCount}`
  if (count < columnCount) return `${countText}: something is missing, or the row was broken into two lines`
  const delimiter = String.fromCharCode(grammar.delimiter)
  const delimiterText = delimiter === '\t' ? 'a tab' : `"${delimiter}"`
  return `${countText}: put a value that contains ${delimiterText} in quotes, or remove the value that is too many`
}

/** Returns the index of the faulty field, or -1 if the fault concerns the whole record. */
function indexOfFaultyField(records: RecordReader, { recordBytes }: RowShape): number {
  const { fault, scanner, bytes } = records
  if (fault === 'TOO_LONG') return indexOfLongField(records, recordBytes)
  if (fault === 'TEXT_AFTER_QUOTE' || fault === 'UNCLOSED_QUOTE') return scanner.count
  if (fault !== 'NOT_UTF8' && fault !== 'NUL_BYTE') return -1
  const fields = Math.min(scanner.count, scanner.starts.length)
  for (let index = 0; index < fields; index++) {
    const field = bytes.subarray(scanner.starts[index], scanner.ends[index])
    const isFaulty = fault === 'NUL_BYTE' ? field.includes(0) : !isUtf8(field)
    if (isFaulty) return index
  }
  return -1
}

/**
 * Returns the index of the field in which the record exceeds `recordBytes`. Returns -1 if the field does not start in
 * the first half of these bytes, because then it is not the cause.
 */
function indexOfLongField({ scanner, from }: RecordReader, recordBytes: number): number {
  const isInsideQuotes = scanner.openQuote >= 0
  const field = isInsideQuotes ? scanner.count : scanner.count - 1
  const start = isInsideQuotes ? scanner.openQuote : scanner.starts[field]!
  return start - from < recordBytes / 2 ? field : -1
}

/** Returns the value of a field as a string, for messages. Does not remove escaping backslashes. */
export function fieldText({ bytes, scanner }: RecordReader, index: number): string {
  const text = bytes.toString('utf8', scanner.starts[index], scanner.ends[index])
  return scanner.fieldFlags[index]! & HAS_DOUBLED_QUOTES ? text.replaceAll('""', '"') : text
}
