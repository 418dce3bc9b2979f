import type { ColumnOptions } from './delimited-options.ts'

/**
 * The syntax of records, as single ASCII bytes; -1 if the file does not use that element. Records end with LF, CRLF or
 * CR, which may be mixed.
 *
 * - A field that starts with a quote ends at the next quote that is not doubled. A quote anywhere else is text. After
 *   the closing quote, only the delimiter or the end of the record may follow; otherwise the record is rejected.
 * - With `escape`, a backslash escapes a following quote, delimiter, CR, LF (CRLF counts as one) or backslash, inside
 *   and outside quotes. Before another character and at the end of the text it is an ordinary backslash. Doubled quotes
 *   keep their meaning inside quotes.
 * - With `padded`, spaces (U+0020) around a field, quoted or not, do not belong to it. Otherwise they do.
 * - A line that starts with `comment` is skipped.
 * - A record with exactly the fields of `repeatedHeader` is skipped.
 * - With `readsStrayQuotes`, a record with broken quotes is read as `readStrayQuotes` describes, if possible.
 */
export interface DelimitedGrammar {
  delimiter: number
  quote: number
  /** The byte of the backslash, or -1 if quotes are only escaped by doubling. */
  escape: number
  padded: boolean
  comment: number
  readsStrayQuotes: boolean
  /** The texts of the header, if it occurs again between the rows, as in concatenated files. */
  repeatedHeader?: readonly string[]
}

/** Returns the grammar of RFC 4180 with this delimiter. */
export function plainGrammar(delimiter: number): DelimitedGrammar {
  return { delimiter, quote: 34, escape: -1, padded: false, comment: -1, readsStrayQuotes: false }
}

/** The settings for reading one file. They are plain data, so that they can be sent to threads. */
export interface DelimitedDialect extends DelimitedGrammar {
  /** The position of the first row in the file, and its physical line number, from 1. */
  from: number
  line: number
  /** The position after the last row: the file size, or the start of the footer. */
  end: number
  /** The physical line number of the header, or 0 without a header. */
  headerLine: number
  /** The labels of the columns from the header, or `column_1` and so on without a header. */
  labels: string[]
  /**
   * The number of empty fields after the last column of every row. A row without them, or with values in them, is
   * rejected.
   */
  trailing: number
  /** The byte of the decimal sign, a point or a comma. */
  decimal: number
  /** The texts that mean null, without quotes, in addition to the unquoted empty field. */
  nulls: string[]
  /** The options of each column, in the order of `labels`. An entry is undefined for a column without options. */
  columns: (ColumnOptions | undefined)[]
  /** For each column, in the order of `labels`: true if the day comes before the month, as earlier files proved. */
  dayFirst?: (boolean | undefined)[]
  /** For each column, in the order of `labels`: the format in which earlier files print all of its values. */
  earlierFormats?: (string | undefined)[]
  /** True if rows of earlier files stay in the table. */
  keepsEarlierRows?: boolean
}

/**
 * One property of the dialect and the confidence in it, from 0 to 1. `given` is true if an option sets the value; its
 * confidence is then 1.
 */
export interface DetectedValue<Value> {
  value: Value
  given: boolean
  confidence: number
}

/** The dialect under the names of the options, so that users can check and override it. */
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
  /**
   * `value` has the texts that mean null. `suggested` has further texts that probably mean null, but are read as texts.
   */
  nullValues: DetectedValue<string[]> & { suggested: string[] }
}

export interface DetectedDialect {
  dialect: DelimitedDialect
  guesses: DetectedOptions
  /** True if the options or the values prove the decimal sign. */
  decimalDecided: boolean
  /** Further findings for the log, such as skipped lines, as complete sentences. */
  notes: string[]
  /** A sentence about other tables in the file. They are not read although no option excludes them. */
  unread?: string
}
