import { isUtf8 } from 'node:buffer'
import { maxColumns } from '@sluice/row-stream'
import type { ByteWindow } from './byte-window.ts'
import { SEEN_DATE, type JsonColumns, SEEN_NESTED, SEEN_PLAIN, SEEN_TEXT } from './json-columns.ts'
import {
  afterSpace,
  HAS_ESCAPE,
  HAS_LONE_SURROGATE,
  HAS_HUGE_NUMBER,
  JsonScanner,
  NEEDS_MORE,
  HAS_NUL,
  OPEN_OBJECT,
  unitAt,
} from './json-scanner.ts'
import type { RowOutput } from '../spool/rejects.ts'
import type { SpoolWriter } from '../spool/spool-writer.ts'

const QUOTE = 34
const COMMA = 44
const LF = 10
const CLOSE_OBJECT = 125
/** From this many bytes on, one native copy is faster than a loop. */
const longText = 64

const ABSENT_VALUE = 0
const PLAIN_VALUE = 1
const TEXT_VALUE = 2
const ESCAPED_TEXT = 3
const NESTED_VALUE = 4

/** Notes where the values of one JSON object are, by column, and writes them as a line of delimited text. Reused for every object. */
class JsonRecord {
  readonly scanner = new JsonScanner()
  readonly columns: JsonColumns
  /** The reason why valid JSON cannot be stored, and the key at fault. */
  unfit: { reason: string; column: string } | undefined
  readonly #starts = new Int32Array(maxColumns)
  readonly #ends = new Int32Array(maxColumns)
  readonly #kinds = new Uint8Array(maxColumns)

  constructor(columns: JsonColumns) {
    this.columns = columns
  }

  /** Reads the object that begins at `from`. Returns the position after it, MORE or BROKEN. The last value of a duplicate key counts. */
  read(bytes: Buffer, from: number, end: number): number {
    const { scanner, columns } = this
    this.#kinds.fill(ABSENT_VALUE, 0, columns.labels.length)
    this.unfit = undefined
    let expected = 0
    let position = afterSpace(bytes, from + 1, end)
    if (position < end && bytes[position] === CLOSE_OBJECT) return position + 1
    for (;;) {
      if (position >= end) return NEEDS_MORE
      if (bytes[position] !== QUOTE) return scanner.broken('a key in double quotes is expected', position)
      let closed = columns.endOf(expected, bytes, position, end)
      let column = expected
      if (closed === 0) {
        closed = scanner.string(bytes, position, end)
        if (closed < 0) return closed
        column = columns.indexOf(bytes, position + 1, closed - 1)
        if (column < 0) return scanner.broken('a key is not valid UTF-8', position)
      }
      const valueAt = scanner.colon(bytes, closed, end)
      if (valueAt < 0) return valueAt
      expected = column + 1
      position = this.#value(bytes, afterSpace(bytes, valueAt, end), end, column)
      if (position < 0) return position
      position = afterSpace(bytes, position, end)
      if (position >= end) return NEEDS_MORE
      if (bytes[position] === CLOSE_OBJECT) return position + 1
      if (bytes[position] !== COMMA) return scanner.broken('a comma or } is expected', position)
      position = afterSpace(bytes, position + 1, end)
    }
  }

  /**
   * Writes the object that was read last. It quotes texts, copies numbers and booleans as they are, and leaves null and
   * absent values empty.
   */
  write(bytes: Buffer, writer: SpoolWriter, length: number): void {
    const { labels, seen } = this.columns
    const width = labels.length
    // Doubled quotes make a value at most twice as long; each value has a comma and two quotes of its own.
    writer.reserve(2 * length + 3 * width + 1)
    const out = writer.bytes
    let at = writer.at
    for (let column = 0; column < width; column++) {
      const kind = this.#kinds[column]!
      const from = this.#starts[column]!
      const to = this.#ends[column]!
      if (column > 0) out[at++] = COMMA
      if (kind === ABSENT_VALUE) continue
      if (kind === PLAIN_VALUE) {
        seen[column]! |= SEEN_PLAIN
        for (let i = from; i < to; i++) out[at++] = bytes[i]!
        continue
      }
      seen[column]! |= kind === NESTED_VALUE ? SEEN_NESTED : isDay(bytes, from, to) ? SEEN_DATE : SEEN_TEXT
      out[at++] = QUOTE
      if (kind === ESCAPED_TEXT) at = putUnescaped(bytes, from, to, out, at)
      else if (kind === NESTED_VALUE) at = putDoubled(bytes, from, to, out, at)
      else if (to - from >= longText) at += bytes.copy(out, at, from, to)
      else for (let i = from; i < to; i++) out[at++] = bytes[i]!
      out[at++] = QUOTE
    }
    out[at++] = LF
    writer.at = at
  }

  #value(bytes: Buffer, from: number, end: number, column: number): number {
    const { scanner } = this
    if (from >= end) return NEEDS_MORE
    scanner.marks = 0
    const byte = bytes[from]!
    const to = byte === QUOTE ? scanner.string(bytes, from, end) : scanner.value(bytes, from, end)
    if (to < 0) return to
    const quoted = byte === QUOTE ? 1 : 0
    this.#starts[column] = from + quoted
    this.#ends[column] = to - quoted
    const nested = byte === OPEN_OBJECT || byte === 91
    this.#kinds[column] = quoted
      ? scanner.marks & HAS_ESCAPE
        ? ESCAPED_TEXT
        : TEXT_VALUE
      : nested
        ? NESTED_VALUE
        : byte === 110
          ? ABSENT_VALUE
          : PLAIN_VALUE
    if (scanner.marks & (HAS_NUL | HAS_LONE_SURROGATE) || (nested && scanner.marks & HAS_HUGE_NUMBER))
      this.#refuse(scanner.marks, column)
    return to
  }

  #refuse(marks: number, column: number): void {
    const reason =
      marks & HAS_NUL
        ? 'holds the character U+0000, which no text column can store'
        : marks & HAS_LONE_SURROGATE
          ? 'holds half a surrogate pair, which is not a character'
          : 'holds a number that is too long or too large for JSONB'
    this.unfit ??= { reason, column: this.columns.labels[column]! }
  }
}

/** Whether a record is UTF-8. Called only if the bytes around it are not known to be UTF-8. */
export const isUtf8Range = (bytes: Buffer, from: number, to: number): boolean => isUtf8(bytes.subarray(from, to))

function isDay(bytes: Buffer, from: number, to: number): boolean {
  return to - from >= 10 && bytes[from]! >= 48 && bytes[from]! <= 57 && bytes[from + 4] === 45 && bytes[from + 7] === 45
}

/**
 * One pass over the objects of a text. It writes a line for each object until an object has a key that the header lacks.
 * From then on it only collects keys, and `late` says that another pass is necessary.
 */
export class JsonPass {
  readonly record: JsonRecord
  late = false
  rows = 0
  written = 0
  readonly #output: RowOutput | undefined
  readonly #width: number

  /** If `output` is absent, the pass only collects keys. */
  constructor(columns: JsonColumns, output?: RowOutput) {
    this.record = new JsonRecord(columns)
    this.#output = output
    this.#width = columns.labels.length
  }

  get writes(): boolean {
    return this.#output !== undefined && !this.late
  }

  /** Takes the object that was read last, which lies between two positions of the window. */
  take(window: ByteWindow, from: number, to: number, line: () => number): void {
    const { record } = this
    this.rows++
    if (record.columns.labels.length > this.#width) this.late = true
    if (!this.writes) return
    if (!window.clean && !isUtf8Range(window.bytes, from, to)) {
      this.reject(window, from, to, line(), 'is not valid UTF-8; save the file as UTF-8')
    } else if (record.unfit) {
      const { reason, column } = record.unfit
      this.reject(window, from, to, line(), reason, column)
    } else {
      record.write(window.bytes, this.#output!.writer, to - from)
      this.written++
    }
  }

  reject(window: ByteWindow, from: number, to: number, line: number, reason: string, column?: string): void {
    if (this.writes)
      this.#output!.rejects.add(line, reason, window.bytes.subarray(from, Math.min(to, from + 8192)), column)
  }
}

const BACKSLASH = 92

/** Meanings of the letters after a backslash; other characters stand for themselves. */
const escapeLetterBytes: Readonly<Record<number, number>> = { 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 }

/** Writes bytes with doubled quotes. Returns the position after them. */
export function putDoubled(bytes: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let position = start
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) out[position++] = QUOTE
    out[position++] = byte
  }
  return position
}

/** Writes the decoded value of a well-formed JSON text as UTF-8 with doubled quotes. The output is never longer than the JSON text. */
function putUnescaped(bytes: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let position = start
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!
    if (byte !== BACKSLASH) {
      out[position++] = byte
      continue
    }
    const letter = bytes[++i]!
    if (letter === 117) {
      let point = unitAt(bytes, i - 1)
      i += 4
      if ((point & 0xfc00) === 0xd800) {
        point = 0x10000 + ((point & 0x3ff) << 10) + (unitAt(bytes, i + 1) & 0x3ff)
        i += 6
      }
      position = putPoint(point, out, position)
    } else {
      if (letter === QUOTE) out[position++] = QUOTE
      out[position++] = escapeLetterBytes[letter] ?? letter
    }
  }
  return position
}

function putPoint(point: number, out: Uint8Array, start: number): number {
  let position = start
  if (point === QUOTE) out[position++] = QUOTE
  if (point < 0x80) out[position++] = point
  else if (point < 0x800) {
    out[position++] = 0xc0 | (point >> 6)
    out[position++] = 0x80 | (point & 63)
  } else if (point < 0x10000) {
    out[position++] = 0xe0 | (point >> 12)
    out[position++] = 0x80 | ((point >> 6) & 63)
    out[position++] = 0x80 | (point & 63)
  } else {
    out[position++] = 0xf0 | (point >> 18)
    out[position++] = 0x80 | ((point >> 12) & 63)
    out[position++] = 0x80 | ((point >> 6) & 63)
    out[position++] = 0x80 | (point & 63)
  }
  return position
}
