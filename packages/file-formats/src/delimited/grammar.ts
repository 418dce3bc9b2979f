/**
 * The syntax of records, as single ASCII bytes; -1 if absent. Records end with LF, CRLF or CR, which may be mixed.
 *
 * - A field that begins with a quote ends with the next quote that is not doubled; a quote anywhere else is text. After the closing
 *   quote, only the delimiter or the end of the record may follow; otherwise the record is rejected.
 * - With `escape`, a backslash escapes a following quote, delimiter, CR, LF (CRLF counts as one) or backslash, inside and outside of
 *   quotes. Before another character and at the end of the text it is a plain backslash. Doubled quotes keep their meaning inside quotes.
 * - With `padded`, the spaces (U+0020) around a field, quoted or not, do not belong to it. Otherwise they do.
 * - A line that begins with `comment` is skipped.
 */
export interface Grammar {
  delimiter: number
  quote: number
  /** A backslash, or -1 if quotes are only escaped by doubling. */
  escape: number
  padded: boolean
  comment: number
}

/** The syntax of RFC 4180 with this delimiter. */
export function plainGrammar(delimiter: number): Grammar {
  return { delimiter, quote: 34, escape: -1, padded: false, comment: -1 }
}
