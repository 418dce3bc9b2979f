import { type DelimitedGrammar, plainGrammar } from './dialect/dialect.ts'
import { maxColumns } from '@sluice/row-stream'

/** Results of a scan. NEEDS_MORE: the record may continue after the available bytes. */
export const NEEDS_MORE = 0
export const COMPLETE_RECORD = 1
export const UNCLOSED_QUOTE = 2
export const TEXT_AFTER_QUOTE = 3
/** The scanned line is a comment; only `next` and `lines` are set. */
export const COMMENT_LINE = 4

/** Bits of `fieldFlags`. They say how the bytes of a field differ from its value. */
export const NEEDS_ESCAPE = 1
export const IS_QUOTED = 2
export const HAS_DOUBLED_QUOTES = 4
export const HAS_BACKSLASH_ESCAPE = 8

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const BACKSLASH = 92

/** Classes of bytes outside quotes, in addition to 0 and NEEDS_ESCAPE. */
const ENDS_FIELD = 2
const ENDS_RECORD = 3
const STARTS_ESCAPE = 4

/**
 * Finds the fields of one record without creating objects. After COMPLETE_RECORD, the fields are `starts[i]` to
 * `ends[i]` (inside the quotes, if quoted) with their `fieldFlags[i]`, for the first 1,600 of `count` fields. All bytes
 * with a special meaning are ASCII, so UTF-8 need not be decoded. `DelimitedGrammar` describes the syntax.
 */
export class RecordScanner {
  readonly starts = new Int32Array(maxColumns)
  readonly ends = new Int32Array(maxColumns)
  /**
   * Flags of each field. NEEDS_ESCAPE: it contains a byte that COPY text must escape. IS_QUOTED: it was quoted.
   * HAS_DOUBLED_QUOTES: it contains doubled quotes. HAS_BACKSLASH_ESCAPE: it contains a backslash that escapes a
   * character.
   */
  readonly fieldFlags = new Uint8Array(maxColumns)
  /** The number of fields or, after a fault, the index of the faulty field. */
  count = 0
  /** The position after the record and its line end. */
  next = 0
  /** The number of line ends in the record, including the one at its end. */
  lines = 0
  /** The position of the last quote that was opened and not closed correctly, or -1. */
  openQuote = -1
  /** The class of each byte outside quotes. Bytes below ENDS_FIELD belong to the field, and are flags of the field. */
  readonly #byteClasses = new Uint8Array(256)
  readonly #grammar: DelimitedGrammar

  constructor(grammar: DelimitedGrammar | number) {
    this.#grammar = typeof grammar === 'number' ? plainGrammar(grammar) : grammar
    this.#byteClasses[BACKSLASH] = this.#grammar.escape === BACKSLASH ? STARTS_ESCAPE : NEEDS_ESCAPE
    this.#byteClasses[TAB] = NEEDS_ESCAPE
    this.#byteClasses[this.#grammar.delimiter] = ENDS_FIELD
    this.#byteClasses[LF] = ENDS_RECORD
    this.#byteClasses[CR] = ENDS_RECORD
  }

  /**
   * Scans the record that starts at `from`. `isComplete` is true if the text ends at `end`. Returns COMPLETE_RECORD,
   * NEEDS_MORE, UNCLOSED_QUOTE, TEXT_AFTER_QUOTE or COMMENT_LINE.
   */
  scan(bytes: Uint8Array, from: number, end: number, isComplete: boolean): number {
    const byteClasses = this.#byteClasses
    const { starts, ends, fieldFlags } = this
    const { quote, padded, comment } = this.#grammar
    let position = from
    let count = 0
    this.lines = 0
    this.openQuote = -1
    if (from < end && bytes[from] === comment) return this.#scanComment(bytes, from, end, isComplete)
    for (;;) {
      let start = position
      let fieldEnd: number
      let flags = 0
      const opening = padded ? afterSpaces(bytes, position, end) : position
      if (opening < end && bytes[opening] === quote) {
        this.count = count
        flags = this.#scanQuotedField(bytes, opening, end, isComplete)
        if (flags === 0) return isComplete ? UNCLOSED_QUOTE : NEEDS_MORE
        start = opening + 1
        position = this.next
        fieldEnd = position - 1
        if (padded) position = afterSpaces(bytes, position, end)
      } else {
        let byteClass = 0
        for (;;) {
          while (position < end && (byteClass = byteClasses[bytes[position]!]!) < ENDS_FIELD) {
            flags |= byteClass
            position++
          }
          if (position === end || byteClass !== STARTS_ESCAPE) break
          const positionAfterEscape = this.#endOfEscape(bytes, position, end, isComplete)
          if (positionAfterEscape < 0) return NEEDS_MORE
          flags |= positionAfterEscape - position > 1 ? NEEDS_ESCAPE | HAS_BACKSLASH_ESCAPE : NEEDS_ESCAPE
          position = positionAfterEscape
        }
        fieldEnd = position
        if (padded) {
          while (fieldEnd > start && bytes[fieldEnd - 1] === SPACE) fieldEnd--
          start = afterSpaces(bytes, start, fieldEnd)
        }
      }
      if (count < maxColumns) {
        starts[count] = start
        ends[count] = fieldEnd
        fieldFlags[count] = flags
      }
      count++
      this.count = count
      if (position === end) {
        if (!isComplete) return NEEDS_MORE
        this.next = position
        return COMPLETE_RECORD
      }
      const byte = bytes[position++]!
      const byteClass = byteClasses[byte]!
      if (byteClass === ENDS_FIELD) continue
      if (byteClass !== ENDS_RECORD) {
        this.openQuote = start - 1
        this.count = count - 1
        return TEXT_AFTER_QUOTE
      }
      if (byte === CR) {
        if (position === end && !isComplete) return NEEDS_MORE
        if (position < end && bytes[position] === LF) position++
      }
      this.lines++
      this.next = position
      return COMPLETE_RECORD
    }
  }

  /**
   * Scans a quoted field. Sets `next` to the position after the closing quote and returns the flags of the field. If
   * the quote is not closed in the available bytes, sets `openQuote` and returns 0.
   */
  #scanQuotedField(bytes: Uint8Array, openingQuote: number, end: number, isComplete: boolean): number {
    const { quote, escape } = this.#grammar
    let flags = IS_QUOTED
    let position = openingQuote + 1
    for (; position < end; position++) {
      const byte = bytes[position]!
      if (byte === quote) {
        // The next byte determines whether this quote closes the field, and it may not be available yet.
        if (position + 1 === end && !isComplete) break
        if (position + 1 === end || bytes[position + 1] !== quote) {
          this.next = position + 1
          return flags
        }
        flags |= HAS_DOUBLED_QUOTES
        position++
      } else if (byte === LF) {
        flags |= NEEDS_ESCAPE
        if (bytes[position - 1] !== CR) this.lines++
      } else if (byte === CR) {
        flags |= NEEDS_ESCAPE
        this.lines++
      } else if (byte === escape) {
        const positionAfterEscape = this.#endOfEscape(bytes, position, end, isComplete)
        if (positionAfterEscape < 0) break
        flags |= positionAfterEscape - position > 1 ? NEEDS_ESCAPE | HAS_BACKSLASH_ESCAPE : NEEDS_ESCAPE
        position = positionAfterEscape - 1
      } else if (byte === TAB || byte === BACKSLASH) flags |= NEEDS_ESCAPE
    }
    this.openQuote = openingQuote
    return 0
  }

  /**
   * Returns the position after the backslash at `position` and the character that it escapes. If the next character
   * cannot be escaped, returns the position after the backslash. Returns -1 if more bytes are needed. Counts an escaped
   * line end.
   */
  #endOfEscape(bytes: Uint8Array, position: number, end: number, isComplete: boolean): number {
    if (position + 1 === end) return isComplete ? end : -1
    const byte = bytes[position + 1]!
    if (byte === CR) {
      if (position + 2 === end && !isComplete) return -1
      this.lines++
      return position + 2 < end && bytes[position + 2] === LF ? position + 3 : position + 2
    }
    if (byte === LF) this.lines++
    return isEscapable(byte, this.#grammar) ? position + 2 : position + 1
  }

  /** Scans a line with a comment. Sets `next` to the position after it and returns COMMENT_LINE, or NEEDS_MORE. */
  #scanComment(bytes: Uint8Array, from: number, end: number, isComplete: boolean): number {
    const lineEnd = afterLineEnd(bytes, from, end, isComplete)
    if (lineEnd < 0 && !isComplete) return NEEDS_MORE
    this.next = lineEnd < 0 ? end : lineEnd
    this.lines = lineEnd < 0 ? 0 : 1
    return COMMENT_LINE
  }
}

/** True if a backslash before this byte is an escape. */
function isEscapable(byte: number, { delimiter, quote }: DelimitedGrammar): boolean {
  return byte === BACKSLASH || byte === delimiter || byte === quote || byte === LF || byte === CR
}

/**
 * Writes the value of a field with doubled quotes or escaping backslashes to `target`. Returns the number of bytes
 * written.
 */
export function unescapeField(
  bytes: Uint8Array,
  from: number,
  to: number,
  flags: number,
  grammar: DelimitedGrammar,
  target: Uint8Array,
): number {
  let writtenBytes = 0
  for (let position = from; position < to; position++) {
    const byte = bytes[position]!
    const isEscapingBackslash =
      flags & HAS_BACKSLASH_ESCAPE &&
      byte === BACKSLASH &&
      position + 1 < to &&
      isEscapable(bytes[position + 1]!, grammar)
    if (isEscapingBackslash) {
      target[writtenBytes++] = bytes[++position]!
      continue
    }
    target[writtenBytes++] = byte
    // Skips the second one of two quotes.
    if (flags & HAS_DOUBLED_QUOTES && byte === grammar.quote) position++
  }
  return writtenBytes
}

/** Returns the position of the first byte that is not a space. */
function afterSpaces(bytes: Uint8Array, from: number, end: number): number {
  let position = from
  while (position < end && bytes[position] === SPACE) position++
  return position
}

/**
 * Returns the position after the first line end at or after `from`. Returns -1 if none exists. Also returns -1 for a
 * CR just before `end`, unless the text is complete, because it may be half of a CRLF.
 */
export function afterLineEnd(bytes: Uint8Array, from: number, end: number, isComplete: boolean): number {
  for (let position = from; position < end; position++) {
    if (bytes[position] === LF) return position + 1
    if (bytes[position] !== CR) continue
    if (position + 1 < end) return bytes[position + 1] === LF ? position + 2 : position + 1
    return isComplete ? position + 1 : -1
  }
  return -1
}

/** Returns the end of a record's text: the position `next`, moved before the line end if it is after one. */
export function withoutLineEnd(bytes: Uint8Array, from: number, next: number): number {
  if (next === from) return next
  if (bytes[next - 1] === CR) return next - 1
  if (bytes[next - 1] !== LF) return next
  return next - 1 > from && bytes[next - 2] === CR ? next - 2 : next - 1
}

/** Counts line ends between two positions. LF, CR and CRLF count as one each. */
export function countLineEnds(bytes: Uint8Array, from: number, to: number): number {
  let lines = 0
  for (let position = from; position < to; position++) {
    const isSecondHalfOfCrlf = position > from && bytes[position - 1] === CR
    if (bytes[position] === CR || (bytes[position] === LF && !isSecondHalfOfCrlf)) lines++
  }
  return lines
}
