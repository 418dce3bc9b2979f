import { DOUBLED, ESCAPED, QUOTED, type RecordScanner } from './scan.ts'

const TAB = 9
const LF = 10
const CR = 13
const QUOTE = 34
const BACKSLASH = 92

/** From this many bytes on, one native copy is faster than a loop. */
const longField = 96

/** The most bytes of COPY text that a record can become: every byte escaped, or every field a `\N` with its tab. */
export function longestEncoding(recordBytes: number, fields: number): number {
  return 2 * recordBytes + 3 * fields + 1
}

/**
 * Writes the record that the scanner stands on as a line of COPY text and answers the place behind it. The values stay as they are
 * written: every notation that inference accepts is one that PostgreSQL reads as the same value. An empty field is null; in
 * quotes it is the empty string where the column is text, and null where a type has no empty value.
 */
export function encodeRecord(
  bytes: Buffer,
  { starts, ends, marks, count }: RecordScanner,
  textColumns: Uint8Array,
  out: Buffer,
  from: number,
): number {
  let at = from
  for (let column = 0; column < count; column++) {
    if (column > 0) out[at++] = TAB
    const start = starts[column]!
    const end = ends[column]!
    const mark = marks[column]!
    if (start === end) {
      if (mark & QUOTED && textColumns[column]) continue
      out[at++] = BACKSLASH
      out[at++] = 78
    } else if (mark & (ESCAPED | DOUBLED)) {
      at = escape(bytes, start, end, (mark & DOUBLED) !== 0, out, at)
    } else if (end - start >= longField) {
      at += bytes.copy(out, at, start, end)
    } else {
      for (let i = start; i < end; i++) out[at++] = bytes[i]!
    }
  }
  out[at++] = LF
  return at
}

function escape(bytes: Buffer, start: number, end: number, doubled: boolean, out: Buffer, from: number): number {
  let at = from
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (byte === TAB || byte === LF || byte === CR || byte === BACKSLASH) {
      out[at++] = BACKSLASH
      out[at++] = byte === TAB ? 116 : byte === LF ? 110 : byte === CR ? 114 : BACKSLASH
    } else {
      out[at++] = byte
      if (doubled && byte === QUOTE) i++
    }
  }
  return at
}
