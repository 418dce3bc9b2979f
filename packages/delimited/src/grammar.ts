/**
 * What a record scanner has to know, as single ASCII bytes; -1 where there is none. Records end with LF, CRLF or CR, mixed as they come.
 *
 * - A field that begins with the quote ends with the next one that is not doubled; a quote anywhere else is text. Behind the closing
 *   quote comes the delimiter or the end of the record, or the record is rejected.
 * - With `escape` a backslash takes its meaning from a quote, a delimiter, CR, LF or backslash behind it (CRLF counts as one),
 *   inside quotes and outside; before anything else, and at the very end, it is itself. A doubled quote still is one inside quotes.
 * - With `padded` the spaces (U+0020) around a field, quoted or not, are no part of it. Otherwise they are.
 * - A record that begins with `comment` is none: its physical line is skipped.
 */
export interface Grammar {
  delimiter: number
  quote: number
  /** A backslash, or -1 where only doubling is known. */
  escape: number
  padded: boolean
  comment: number
}

/** As most files are written: RFC 4180, with the delimiter given. */
export function plainGrammar(delimiter: number): Grammar {
  return { delimiter, quote: 34, escape: -1, padded: false, comment: -1 }
}
