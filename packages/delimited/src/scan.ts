import { maxColumns } from './limits.ts'

/** What a scan came to. With MORE the record may go on behind the bytes at hand. */
export const MORE = 0
export const RECORD = 1
export const UNCLOSED_QUOTE = 2
export const TEXT_AFTER_QUOTE = 3

/** Bits of `marks`: what has to be done to a field before its bytes are its value. */
export const ESCAPED = 1
export const QUOTED = 2
export const DOUBLED = 4

const TAB = 9
const LF = 10
const CR = 13
const QUOTE = 34
const BACKSLASH = 92

const ENDS_FIELD = 2
const ENDS_RECORD = 3

/**
 * Finds one record's fields in bytes without making an object for any of them: after RECORD the fields are
 * `starts[i]` to `ends[i]` (inside the quotes where there are some) with their `marks[i]`, for the first 1,600 of `count`.
 * All bytes with a meaning are ASCII, so UTF-8 needs no decoding.
 */
export class RecordScanner {
  readonly starts = new Int32Array(maxColumns)
  readonly ends = new Int32Array(maxColumns)
  /** ESCAPED: holds a byte that COPY text escapes; QUOTED: stood in quotes; DOUBLED: holds doubled quotes. */
  readonly marks = new Uint8Array(maxColumns)
  /** Fields found; after a fault the index of the field at fault. */
  count = 0
  /** First byte behind the record and its line end. */
  next = 0
  /** Line ends passed, the record's own included. */
  lines = 0
  /** The last quote that was opened and not properly closed, or -1. */
  openQuote = -1
  readonly #kinds = new Uint8Array(256)

  constructor(delimiter: number) {
    this.#kinds[BACKSLASH] = ESCAPED
    this.#kinds[TAB] = ESCAPED
    this.#kinds[delimiter] = ENDS_FIELD
    this.#kinds[LF] = ENDS_RECORD
    this.#kinds[CR] = ENDS_RECORD
  }

  /** Scans the record that starts at `from`. `complete` says that nothing follows behind `end`. */
  scan(bytes: Uint8Array, from: number, end: number, complete: boolean): number {
    const kinds = this.#kinds
    const { starts, ends, marks } = this
    let at = from
    let count = 0
    this.lines = 0
    this.openQuote = -1
    for (;;) {
      let start = at
      let fieldEnd: number
      let mark = 0
      if (at < end && bytes[at] === QUOTE) {
        this.count = count
        mark = this.#quoted(bytes, at, end, complete)
        if (mark === 0) return complete ? UNCLOSED_QUOTE : MORE
        start = at + 1
        at = this.next
        fieldEnd = at - 1
      } else {
        let kind = 0
        while (at < end && (kind = kinds[bytes[at]!]!) < ENDS_FIELD) {
          mark |= kind
          at++
        }
        fieldEnd = at
      }
      if (count < maxColumns) {
        starts[count] = start
        ends[count] = fieldEnd
        marks[count] = mark
      }
      count++
      this.count = count
      if (at === end) {
        if (!complete) return MORE
        this.next = at
        return RECORD
      }
      const byte = bytes[at++]!
      const kind = kinds[byte]!
      if (kind === ENDS_FIELD) continue
      if (kind !== ENDS_RECORD) {
        this.openQuote = start - 1
        this.count = count - 1
        return TEXT_AFTER_QUOTE
      }
      if (byte === CR) {
        if (at === end && !complete) return MORE
        if (at < end && bytes[at] === LF) at++
      }
      this.lines++
      this.next = at
      return RECORD
    }
  }

  /** Leaves `next` behind the closing quote and answers the field's marks, or 0 with the quote left open. */
  #quoted(bytes: Uint8Array, opened: number, end: number, complete: boolean): number {
    let mark = QUOTED
    let at = opened + 1
    for (; at < end; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) {
        // Whether this quote closes the field is up to the byte behind it, which may not be there yet.
        if (at + 1 === end && !complete) break
        if (at + 1 === end || bytes[at + 1] !== QUOTE) {
          this.next = at + 1
          return mark
        }
        mark |= DOUBLED
        at++
      } else if (byte === LF) {
        mark |= ESCAPED
        if (bytes[at - 1] !== CR) this.lines++
      } else if (byte === CR) {
        mark |= ESCAPED
        this.lines++
      } else if (byte === TAB || byte === BACKSLASH) mark |= ESCAPED
    }
    this.openQuote = opened
    return 0
  }
}

/** The byte behind the first line end at or after `from`, or -1 where none is sure to be there. */
export function afterLineEnd(bytes: Uint8Array, from: number, end: number, complete: boolean): number {
  for (let at = from; at < end; at++) {
    if (bytes[at] === LF) return at + 1
    if (bytes[at] !== CR) continue
    if (at + 1 < end) return bytes[at + 1] === LF ? at + 2 : at + 1
    return complete ? at + 1 : -1
  }
  return -1
}

/** Line ends between two positions; LF, CR and CRLF count as one. */
export function countLineEnds(bytes: Uint8Array, from: number, to: number): number {
  let lines = 0
  for (let at = from; at < to; at++) {
    if (bytes[at] === CR || (bytes[at] === LF && (at === from || bytes[at - 1] !== CR))) lines++
  }
  return lines
}
