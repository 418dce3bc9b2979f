import { readObject, width } from './read-object'
import { skipSpace, OPEN_OBJECT } from './scan-value'
import { BATCH_IS_FULL, writeRow, WRITTEN } from './write-row'

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
 * Writes the object of each line as a row, and skips blank lines. Stops at an irregular line: one that is longer than
 * `maxLineBytes`, is not exactly one object, has a new key, or has a value that cannot be stored. Returns the reason
 * for stopping.
 */
export function writeLines(from: usize, end: usize, maxLineBytes: usize): i32 {
  const columns = width
  processedLines = 0
  writtenRows = 0
  stoppedAt = from
  while (true) {
    const line = stoppedAt
    const lineEnd = findLineEnd(line, end)
    if (lineEnd == end) return NO_MORE_LINES
    const start = skipSpace(line, lineEnd)
    if (start < lineEnd) {
      if (lineEnd - line > maxLineBytes || load<u8>(start) != OPEN_OBJECT) return IRREGULAR_LINE
      const objectEnd = readObject(start, lineEnd)
      const hasNewKey = width != columns
      if (objectEnd < 0 || hasNewKey || skipSpace(<usize>objectEnd, lineEnd) != lineEnd) return IRREGULAR_LINE
      const outcome = writeRow(lineEnd - line)
      if (outcome == BATCH_IS_FULL) return BATCH_IS_FULL
      if (outcome != WRITTEN) return IRREGULAR_LINE
      writtenRows++
    }
    processedLines++
    stoppedAt = lineEnd + 1
  }
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
