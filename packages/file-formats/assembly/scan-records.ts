import { equal, lineEnds, parity } from './find-line-ends'
import { endOf, fieldOf, marksOf, setPlain, setQuoted, startOf } from './fields'
import { ODD_RECORD, take, TAKEN } from './process-record'

const LF: u8 = 10
const CR: u8 = 13
const QUOTE: u8 = 34

/** The scan reached the end of the available text, so the host (the calling JavaScript) must provide more. */
export const NEEDS_MORE: i32 = 0

/** The number of scanned records, and of line ends in and between them. */
export let rows: i32 = 0
export let lines: i32 = 0
/** The position of the first record that was not scanned. */
export let stoppedAt: usize = 0

let delimiter: u8 = 44
let width: i32 = 0
let trailing: i32 = 0
let longestRecord: usize = 0

/**
 * Sets the delimiter, the number of fields, the number of additional empty fields at the end, and the maximum bytes of
 * a record.
 */
export function setShape(delimiterByte: u8, fields: i32, empty: i32, recordBytes: i32): void {
  trailing = empty
  longestRecord = <usize>recordBytes
  delimiter = delimiterByte
  width = fields
}

/**
 * Scans the records from `from` to `end` while they are regular: quotes only around whole fields, doubled inside, and
 * the expected number of fields. `use` is described in process-record.ts. Returns the reason for stopping.
 */
export function scan(from: usize, end: usize, use: i32): i32 {
  const quotes = i8x16.splat(QUOTE)
  const delimiters = i8x16.splat(delimiter)
  const lineFeeds = i8x16.splat(LF)
  const returns = i8x16.splat(CR)
  rows = 0
  lines = 0
  /** Line ends inside quotes: their number in earlier blocks of this record, and their bits in this block. */
  let passed = 0
  let inner: u64 = 0
  /** All bits are set while a quote from an earlier block is open. */
  let open: u64 = 0
  /**
   * 1 if the previous block ends with a separator or a closing quote (`mayOpen`), and 1 if it ends with a closing quote
   * (`closed`).
   */
  let mayOpen: u64 = 1
  let closed: u64 = 0
  let record = from
  let field = from
  let column = 0

  for (let block = from; block < end; block += 64) {
    const left = end - block
    const valid: u64 = left >= 64 ? ~(<u64>0) : ((<u64>1) << <u64>left) - 1
    const quote = equal(block, quotes) & valid
    const separator = (equal(block, delimiters) | equal(block, lineFeeds) | equal(block, returns)) & valid
    let outside = separator & ~open
    /** The first position in this block with an invalid quote, or 64 without invalid quotes. */
    let sense: u64 = ~(<u64>0)
    if ((quote | open | closed) != 0) {
      const inside = parity(quote) ^ open
      open = <u64>(<i64>inside >> 63)
      outside = separator & ~inside
      if (separator & inside) inner = lineEnds(block) & separator & inside
      const opens = quote & inside
      const closes = quote & ~inside
      const before = outside | closes
      const wrong = (opens & ~((before << 1) | mayOpen)) | (((closes << 1) | closed) & ~(outside | quote) & valid)
      mayOpen = before >>> 63
      closed = closes >>> 63
      if (wrong != 0) {
        sense = ((<u64>1) << ctz(wrong)) - 1
        outside &= sense
      }
    } else mayOpen = outside >>> 63

    while (outside != 0) {
      const at = block + <usize>ctz(outside)
      outside &= outside - 1
      // Skips the LF of a CRLF that was already handled.
      if (at < field) continue
      if (column == width) return stop(record, ODD_RECORD)
      const byte = load<u8>(at)
      if (field < at && load<u8>(field) == QUOTE) setQuoted(column, field + 1, at - 1)
      else setPlain(column, field, at)
      column++
      if (byte == delimiter) {
        field = at + 1
        continue
      }
      if (byte == CR && at + 1 == end) return stop(record, NEEDS_MORE)
      field = byte == CR && load<u8>(at, 1) == LF ? at + 2 : at + 1
      if (column == width) {
        if (at - record > longestRecord) return stop(record, ODD_RECORD)
        if (trailing != 0 && !isTrailing(width - trailing, width)) return stop(record, ODD_RECORD)
        const why = take(at - record, use)
        if (why != TAKEN) return stop(record, why)
        rows++
      } else if (at != record) return stop(record, ODD_RECORD)
      // Otherwise it is a blank line, which is skipped.
      lines += 1 + passed
      passed = 0
      if (inner != 0) {
        const before = ((<u64>1) << <u64>(at - block)) - 1
        lines += <i32>popcnt<u64>(inner & before)
        inner &= ~before
      }
      record = field
      column = 0
    }
    if (sense != ~(<u64>0)) return stop(record, ODD_RECORD)
    passed += <i32>popcnt<u64>(inner)
    inner = 0
  }
  return stop(record, NEEDS_MORE)
}

/** True if these fields are empty and unquoted. */
function isTrailing(from: i32, to: i32): bool {
  for (let column = from; column < to; column++) {
    const field = fieldOf(column)
    if (startOf(field) != endOf(field) || marksOf(field) != 0) return false
  }
  return true
}

@inline function stop(at: usize, why: i32): i32 {
  stoppedAt = at
  return why
}
