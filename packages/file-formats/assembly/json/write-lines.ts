import { readObject, width } from './read-object'
import { afterSpace, OPEN_OBJECT } from './scan-value'
import { BATCH_IS_FULL, writeRow, WRITTEN } from './write-row'

const LF: u8 = 10

/** Results of `writeLines`, besides BATCH_IS_FULL. NO_MORE_LINES: the rest has no line end. ODD_LINE: the host must read the line. */
const NO_MORE_LINES: i32 = 0
const ODD_LINE: i32 = 2

/** The number of lines that the last call passed over, and of rows that it wrote. */
export let passedLines: i32 = 0
export let writtenRows: i32 = 0
/** The start of the first line that was not passed over. */
export let stoppedAt: usize = 0

/**
 * Writes the object of each line as a row, and skips blank lines, while the lines are regular: up to `longest` bytes, with one object that
 * can be stored and has no new key. Returns the reason for the stop.
 */
export function writeLines(from: usize, end: usize, longest: usize): i32 {
  const columns = width
  passedLines = 0
  writtenRows = 0
  stoppedAt = from
  while (true) {
    const line = stoppedAt
    const lineEnd = findLineEnd(line, end)
    if (lineEnd == end) return NO_MORE_LINES
    const start = afterSpace(line, lineEnd)
    if (start < lineEnd) {
      if (lineEnd - line > longest || load<u8>(start) != OPEN_OBJECT) return ODD_LINE
      const after = readObject(start, lineEnd)
      if (after < 0 || width != columns || afterSpace(<usize>after, lineEnd) != lineEnd) return ODD_LINE
      const outcome = writeRow(lineEnd - line)
      if (outcome == BATCH_IS_FULL) return BATCH_IS_FULL
      if (outcome != WRITTEN) return ODD_LINE
      writtenRows++
    }
    passedLines++
    stoppedAt = lineEnd + 1
  }
}

/** Returns the position of the first line feed, or `end`. */
function findLineEnd(from: usize, end: usize): usize {
  const rowStreams = i8x16.splat(LF)
  for (let at = from; at < end; at += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(at), rowStreams))
    if (bits == 0) continue
    const rowStream = at + <usize>ctz(bits)
    return rowStream < end ? rowStream : end
  }
  return end
}
