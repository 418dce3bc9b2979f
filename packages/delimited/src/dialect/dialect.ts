import type { Grammar } from '../grammar.ts'
import type { ColumnOptions } from './delimited-options.ts'

/** How one file is read: everything a reader has to know. Plain data, so it goes to threads as it is. */
export interface DelimitedDialect extends Grammar {
  /** Position of the first row in the file, behind the header, and its physical line, from 1. */
  from: number
  line: number
  /** Position behind the last row: the file's size, or where its footer begins. */
  end: number
  /** The physical line in which the header begins; 0 where there is none. */
  headerLine: number
  /** One for each column, as they stand in the header; `column_1` and so on without one. */
  labels: string[]
  /** Empty fields that every row has behind its last column and that are no columns. A row that lacks them or fills them does not fit. */
  trailing: number
  /** The decimal sign, a point or a comma, as its byte. */
  decimal: number
  /** Fields that mean null besides the unquoted empty one, as they are written between their quotes. */
  nulls: string[]
  /** What was said about columns, in the order of `labels`; undefined where nothing was. */
  columns: (ColumnOptions | undefined)[]
  /** Whether days come before months, in the order of `labels`, where earlier files have decided. */
  dayFirst?: (boolean | undefined)[]
}

/** Where a part of the dialect comes from, and how sure it is: from 0 to 1, and 1 for what was given. */
export interface DetectedValue<Value> {
  value: Value
  given: boolean
  confidence: number
}

/** The dialect in the words of the options, for people to look at and to overrule. */
export interface DetectedOptions {
  delimiter: DetectedValue<string>
  quote: DetectedValue<'DOUBLE' | 'SINGLE' | 'NONE'>
  escape: DetectedValue<'DOUBLED' | 'BACKSLASH'>
  recordEnds: DetectedValue<'LF' | 'CRLF' | 'CR' | 'MIXED' | 'NONE'>
  skipLines: DetectedValue<number>
  headerRow: DetectedValue<boolean>
  headerLines: DetectedValue<number>
  trailingDelimiters: DetectedValue<number>
  trimSpaces: DetectedValue<boolean>
  footerLines: DetectedValue<number>
  decimal: DetectedValue<'POINT' | 'COMMA'>
  /** Spellings that look as if they meant null; the value is what is applied. */
  nullValues: DetectedValue<string[]> & { suggested: string[] }
}

export interface DetectedDialect {
  dialect: DelimitedDialect
  guesses: DetectedOptions
  /** Whether the values leave no other reading of the decimal sign, or it was given. */
  decimalDecided: boolean
  /** What a reader of the log should know besides the guesses: what was skipped, or trails behind. Whole sentences. */
  notes: string[]
}
