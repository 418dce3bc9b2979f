import { findByte, findLineEnds, quotedRanges } from './byte-masks'
import { endOf, fieldOf, flagsOf, setPlain, setQuoted, startOf } from './field-layout'
import { IRREGULAR_RECORD, processRecord, RECORD_PROCESSED } from './process-record'

const LF: u8 = 10
const CR: u8 = 13
const QUOTE: u8 = 34

/** The scan reached the end of the available text, so the host (the calling JavaScript) must provide more. */
export const NEEDS_MORE: i32 = 0

/** The number of records that the last `scan` processed, and of line ends in and between them. */
export let rows: i32 = 0
export let lines: i32 = 0
/** The position of the first record that was not scanned. */
export let stoppedAt: usize = 0

let delimiter: u8 = 44
let width: i32 = 0
let trailingFields: i32 = 0
let maxRecordBytes: usize = 0

/**
 * Sets the format of the records: the delimiter, the number of fields, how many of the last fields must be empty, and
 * the maximum bytes.
 */
export function setRecordShape(delimiterByte: u8, fields: i32, emptyFields: i32, maxBytes: i32): void {
  delimiter = delimiterByte
  width = fields
  trailingFields = emptyFields
  maxRecordBytes = <usize>maxBytes
}

const ALL_BITS: u64 = ~(<u64>0)

/**
 * Scans the records from `from` to `end` while they are regular: each has the expected number of fields, and its quotes
 * are only around whole fields or doubled inside them. `mode` is OBSERVE or ENCODE, as for `processRecord`. Returns the
 * reason for stopping.
 *
 * Examines blocks of 64 bytes. A mask has a bit for each byte of the block.
 */
export function scan(from: usize, end: usize, mode: i32): i32 {
  const quoteVector = i8x16.splat(QUOTE)
  const delimiterVector = i8x16.splat(delimiter)
  const lineFeedVector = i8x16.splat(LF)
  const returnVector = i8x16.splat(CR)
  rows = 0
  lines = 0
  /**
   * The line ends inside quotes in the current record: their number in earlier blocks, and their mask in this block.
   */
  let quotedLineEnds = 0
  let quotedLineEndBits: u64 = 0
  /** ALL_BITS while a quote of an earlier block is open, otherwise 0. */
  let openQuoteMask: u64 = 0
  /** 1 if a quote at the start of the block would be a valid opening quote, otherwise 0. */
  let mayOpenQuote: u64 = 1
  /** 1 if the previous block ends with a closing quote, otherwise 0. */
  let afterClosingQuote: u64 = 0
  let record = from
  let field = from
  let column = 0

  for (let block = from; block < end; block += 64) {
    const bytesLeft = end - block
    const available: u64 = bytesLeft >= 64 ? ALL_BITS : ((<u64>1) << <u64>bytesLeft) - 1
    const quotes = findByte(block, quoteVector) & available
    const lineEndBytes = findByte(block, lineFeedVector) | findByte(block, returnVector)
    const separators = (findByte(block, delimiterVector) | lineEndBytes) & available
    /** The separators that end a field. */
    let fieldEnds = separators & ~openQuoteMask
    /** The bytes before the first invalid quote. */
    let validBytes: u64 = ALL_BITS
    if ((quotes | openQuoteMask | afterClosingQuote) != 0) {
      const quoted = quotedRanges(quotes) ^ openQuoteMask
      openQuoteMask = <u64>(<i64>quoted >> 63)
      fieldEnds = separators & ~quoted
      if (separators & quoted) quotedLineEndBits = findLineEnds(block) & separators & quoted
      const openingQuotes = quotes & quoted
      const closingQuotes = quotes & ~quoted
      // An opening quote must follow a separator. After a closing quote, it is the second one of a doubled quote.
      const mayPrecedeOpeningQuote = fieldEnds | closingQuotes
      const invalidOpeningQuotes = openingQuotes & ~((mayPrecedeOpeningQuote << 1) | mayOpenQuote)
      // A separator or another quote must follow a closing quote.
      const bytesAfterClosingQuotes = (closingQuotes << 1) | afterClosingQuote
      const invalidBytes = invalidOpeningQuotes | (bytesAfterClosingQuotes & ~(fieldEnds | quotes) & available)
      mayOpenQuote = mayPrecedeOpeningQuote >>> 63
      afterClosingQuote = closingQuotes >>> 63
      if (invalidBytes != 0) {
        validBytes = ((<u64>1) << ctz(invalidBytes)) - 1
        fieldEnds &= validBytes
      }
    } else mayOpenQuote = fieldEnds >>> 63

    while (fieldEnds != 0) {
      const at = block + <usize>ctz(fieldEnds)
      fieldEnds &= fieldEnds - 1
      // Skips the LF of a CRLF that was already handled.
      if (at < field) continue
      if (column == width) return stop(record, IRREGULAR_RECORD)
      const byte = load<u8>(at)
      if (field < at && load<u8>(field) == QUOTE) setQuoted(column, field + 1, at - 1)
      else setPlain(column, field, at)
      column++
      if (byte == delimiter) {
        field = at + 1
        continue
      }
      // The LF of this CR may not be available yet.
      if (byte == CR && at + 1 == end) return stop(record, NEEDS_MORE)
      field = byte == CR && load<u8>(at, 1) == LF ? at + 2 : at + 1
      const isBlankLine = column < width && at == record
      if (column == width) {
        if (at - record > maxRecordBytes) return stop(record, IRREGULAR_RECORD)
        if (trailingFields != 0 && !areEmpty(width - trailingFields, width)) return stop(record, IRREGULAR_RECORD)
        const result = processRecord(at - record, mode)
        if (result != RECORD_PROCESSED) return stop(record, result)
        rows++
      } else if (!isBlankLine) return stop(record, IRREGULAR_RECORD)
      lines += 1 + quotedLineEnds
      quotedLineEnds = 0
      if (quotedLineEndBits != 0) {
        const bytesOfRecord = ((<u64>1) << <u64>(at - block)) - 1
        lines += <i32>popcnt<u64>(quotedLineEndBits & bytesOfRecord)
        quotedLineEndBits &= ~bytesOfRecord
      }
      record = field
      column = 0
    }
    if (validBytes != ALL_BITS) return stop(record, IRREGULAR_RECORD)
    quotedLineEnds += <i32>popcnt<u64>(quotedLineEndBits)
    quotedLineEndBits = 0
  }
  return stop(record, NEEDS_MORE)
}

/** True if these fields are empty and unquoted. */
function areEmpty(from: i32, to: i32): bool {
  for (let column = from; column < to; column++) {
    const field = fieldOf(column)
    if (startOf(field) != endOf(field) || flagsOf(field) != 0) return false
  }
  return true
}

/** Sets `stoppedAt`. Returns the reason. */
@inline function stop(at: usize, reason: i32): i32 {
  stoppedAt = at
  return reason
}
