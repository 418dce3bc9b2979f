import { readObject, width } from './read-object'
import { skipSpace, OPEN_OBJECT } from './scan-value'
import { BATCH_IS_FULL, VALUE_UNSTORABLE, writeRow, WRITTEN } from './write-row'

const LF: u8 = 10

/**
 * Results of `writeLines` besides BATCH_IS_FULL. NO_MORE_LINES: the rest of the text has no line end. IRREGULAR_LINE:
 * the host (the calling JavaScript) must read the line.
 */
const NO_MORE_LINES: i32 = 0
const IRREGULAR_LINE: i32 = 2

/** The number of lines that the last call processed, and of rows that it wrote. */
export let processedLines: i32 = 0
export let writtenRows: i32 = 0
/** The start of the first line that the last call did not process. */
export let stoppedAt: usize = 0

/**
 * Writes the object of each line as a row, and skips blank lines. Stops at a line that the host must read, when OUT is
 * full, or when the text has no more line ends. Returns the reason for stopping, and sets `processedLines`,
 * `writtenRows` and `stoppedAt`.
 */
export function writeLines(from: usize, end: usize, maxLineBytes: usize): i32 {
  processedLines = 0
  writtenRows = 0
  stoppedAt = from
  while (true) {
    const lineEnd = findLineEnd(stoppedAt, end)
    if (lineEnd == end) return NO_MORE_LINES
    const outcome = writeLine(stoppedAt, lineEnd, maxLineBytes)
    if (outcome == BATCH_IS_FULL || outcome == IRREGULAR_LINE) return outcome
    if (outcome == WRITTEN) writtenRows++
    processedLines++
    stoppedAt = lineEnd + 1
  }
}

const BLANK_LINE: i32 = 3

/**
 * Writes the object of a line as a row. Returns WRITTEN, BLANK_LINE or BATCH_IS_FULL. Returns IRREGULAR_LINE if the
 * line is too long, is not exactly one object, has a new key or a value that cannot be stored.
 */
@inline function writeLine(from: usize, to: usize, maxLineBytes: usize): i32 {
  const object = skipSpace(from, to)
  if (object == to) return BLANK_LINE
  const lineBytes = to - from
  if (lineBytes > maxLineBytes || load<u8>(object) != OPEN_OBJECT) return IRREGULAR_LINE
  const columnsBefore = width
  const objectEnd = readObject(object, to)
  if (objectEnd < 0) return IRREGULAR_LINE
  const hasNewKey = width != columnsBefore
  const hasTextAfterObject = skipSpace(<usize>objectEnd, to) != to
  if (hasNewKey || hasTextAfterObject) return IRREGULAR_LINE
  const outcome = writeRow(lineBytes)
  return outcome == VALUE_UNSTORABLE ? IRREGULAR_LINE : outcome
}

/** Returns the position of the first line feed, or `end`. */
function findLineEnd(from: usize, end: usize): usize {
  const lineFeeds = i8x16.splat(LF)
  for (let at = from; at < end; at += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(at), lineFeeds))
    if (bits == 0) continue
    const lineFeed = at + <usize>ctz(bits)
    return lineFeed < end ? lineFeed : end
  }
  return end
}
