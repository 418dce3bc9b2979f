import { SourceProblem } from '@sluice/row-stream'
import type { JsonCursor } from './json-cursor.ts'
import type { JsonPass } from './json-record.ts'
import { afterSpace, INVALID_JSON, COMMA, jsonScanner, NEEDS_MORE, OPEN_ARRAY, OPEN_OBJECT } from './json-scanner.ts'
import { ambiguousArraysProblem } from './json-shape.ts'
import { type ByteWindow, formatBytes } from './byte-window.ts'

const CLOSE_ARRAY = 93
const CLOSE_OBJECT = 125
const ARRAY_END = -3
/** The value was processed, and the window ends before the comma or bracket after it. */
const VALUE_TAKEN = -4

/**
 * Processes consecutive objects up to the end of the text. A broken object ends the walk with an error, because the
 * start of the next object is unknown.
 */
export async function walkSequence(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  while ((await cursor.peek()) !== undefined) {
    if (takeRun(cursor, pass, false) !== NEEDS_MORE || cursor.window.from === cursor.window.end) continue
    if (isTooLong(cursor)) await rejectLongValue(cursor, pass)
    else await cursor.more()
  }
}

/**
 * Processes the elements of the document's array, or of the array under one of its keys. The rest of the document must
 * be valid too. With `forbidOtherArrays`, throws for another array of objects under another key.
 */
export async function walkArray(
  cursor: JsonCursor,
  pass: JsonPass,
  key?: string,
  forbidOtherArrays = false,
): Promise<void> {
  const { window } = cursor
  if (key !== undefined) await findKey(cursor, key)
  await cursor.expect(OPEN_ARRAY)
  if ((await cursor.peek()) === CLOSE_ARRAY) window.from++
  else await takeElements(cursor, pass)
  if (key !== undefined) await restOfObject(cursor, key, forbidOtherArrays)
  if ((await cursor.peek()) === undefined) return
  throw cursor.broken('the document has more text after its end', window.from)
}

async function takeElements(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  const { window } = cursor
  for (;;) {
    const outcome = takeRun(cursor, pass, true)
    if (outcome === ARRAY_END) return
    if (outcome === NEEDS_MORE && !isTooLong(cursor)) {
      await cursor.more()
      continue
    }
    if (outcome === NEEDS_MORE) await rejectLongValue(cursor, pass)
    if ((await cursor.peek()) === CLOSE_ARRAY) {
      window.from++
      return
    }
    await cursor.expect(COMMA)
  }
}

/** True if the value at the window's start exceeds the maximum length of a record. */
const isTooLong = ({ window, recordBytes }: JsonCursor): boolean => window.end - window.from > recordBytes

async function rejectLongValue(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  const { window, recordBytes } = cursor
  pass.reject(
    window,
    window.from,
    window.end,
    window.place(window.from).line,
    `is longer than ${formatBytes(recordBytes)}`,
  )
  await cursor.skipLongValue()
}

/**
 * Processes rows while the window contains complete ones. With `isArray`, they are the elements of an array, up to
 * its end; otherwise, they are consecutive objects without commas.
 */
function takeRun(
  cursor: JsonCursor,
  pass: JsonPass,
  isArray: boolean,
): typeof NEEDS_MORE | typeof ARRAY_END | typeof VALUE_TAKEN {
  const { window } = cursor
  const { bytes, end } = window
  for (;;) {
    const from = afterSpace(bytes, window.from, end)
    window.from = from
    if (from === end) return NEEDS_MORE
    const isObject = bytes[from] === OPEN_OBJECT
    const valueEnd = isObject ? pass.record.read(from, end) : jsonScanner.value(from, end)
    if (valueEnd === INVALID_JSON) throw cursor.broken(jsonScanner.fault, jsonScanner.faultAt)
    if (valueEnd === NEEDS_MORE) return NEEDS_MORE
    const afterValue = isArray ? afterSpace(bytes, valueEnd, end) : valueEnd
    const isLast = isArray && afterValue === end
    // White space after a value does not count towards its length.
    if (isLast && !isTooLong(cursor)) return NEEDS_MORE
    const lineOfValue = () => window.place(from).line
    if (valueEnd - from > cursor.recordBytes) {
      pass.reject(window, from, valueEnd, lineOfValue(), `is longer than ${formatBytes(cursor.recordBytes)}`)
    } else if (isObject) pass.take(window, from, valueEnd, lineOfValue)
    else if (pass.rows === 0) throw notRows(cursor, lineOfValue())
    else pass.reject(window, from, valueEnd, lineOfValue(), 'is not a JSON object')
    window.from = isArray && !isLast ? afterValue + 1 : valueEnd
    if (isLast) return VALUE_TAKEN
    if (!isArray || bytes[afterValue] === COMMA) continue
    if (bytes[afterValue] === CLOSE_ARRAY) return ARRAY_END
    throw cursor.broken('a comma or ] is expected', afterValue)
  }
}

/** Moves to the position after a key of the document's object and its colon. */
async function findKey(cursor: JsonCursor, key: string): Promise<void> {
  await cursor.expect(OPEN_OBJECT)
  while ((await cursor.key()) !== key) {
    await cursor.skipValue()
    await cursor.expect(COMMA)
  }
}

async function restOfObject(cursor: JsonCursor, arrayKey: string, forbidOtherArrays: boolean): Promise<void> {
  while ((await cursor.peek()) === COMMA) {
    await cursor.expect(COMMA)
    const key = await cursor.key()
    const [first, second] = await cursor.skipValue()
    if (forbidOtherArrays && first === OPEN_ARRAY && second === OPEN_OBJECT)
      throw ambiguousArraysProblem(cursor.name, arrayKey, key)
  }
  await cursor.expect(CLOSE_OBJECT)
}

function notRows({ name }: JsonCursor, line: number): SourceProblem {
  const text = `${name} has values that are not objects (line ${line}). Rows must be objects with the columns as keys.`
  return new SourceProblem('JSON_NOT_ROWS', text)
}

const LF = 10

/** Processes one object per line. An invalid line is rejected and does not affect other lines. Skips blank lines. */
export async function walkLines(window: ByteWindow, pass: JsonPass, recordBytes: number): Promise<void> {
  let line = 1
  do {
    line = takeCompleteLines(window, pass, line, recordBytes)
    if (window.end - window.from > recordBytes) await skipLine(window, pass, line++, recordBytes)
  } while (await window.grow())
  if (window.from < window.end) takeLine(window, pass, window.from, window.end, line, recordBytes)
}

/** Takes all lines of the window that have a line end. Returns the number of the line after them. */
function takeCompleteLines(window: ByteWindow, pass: JsonPass, firstLine: number, recordBytes: number): number {
  const bytes = window.bytes.subarray(0, window.end)
  for (let line = firstLine; ; line++) {
    line += pass.takeRegularLines(window, recordBytes)
    const end = bytes.indexOf(LF, window.from)
    if (end < 0) return line
    takeLine(window, pass, window.from, end, line, recordBytes)
    window.from = end + 1
  }
}

/**
 * Processes one line. A blank line is skipped. Rejects the line as a row if it is too long, is not a JSON object, is
 * incomplete, or has text after the object.
 */
function takeLine(
  window: ByteWindow,
  pass: JsonPass,
  from: number,
  end: number,
  line: number,
  recordBytes: number,
): void {
  const { bytes } = window
  const { record } = pass
  const start = afterSpace(bytes, from, end)
  if (start === end) return
  const reject = (reason: string) => pass.reject(window, from, end, line, reason)
  if (end - from > recordBytes) return reject(`is longer than ${formatBytes(recordBytes)}`)
  if (bytes[start] !== OPEN_OBJECT) return reject('is not a JSON object')
  const objectEnd = record.read(start, end)
  if (objectEnd === NEEDS_MORE) return reject('ends in the middle of an object')
  if (objectEnd === INVALID_JSON)
    return reject(`${jsonScanner.fault} (byte ${jsonScanner.faultAt - from + 1} of the line)`)
  if (afterSpace(bytes, objectEnd, end) < end)
    return reject(`the line has more text after the object (byte ${objectEnd - from + 1} of the line)`)
  pass.take(window, from, end, () => line)
}

/** Rejects and skips a line that is too long for memory. */
async function skipLine(window: ByteWindow, pass: JsonPass, line: number, recordBytes: number): Promise<void> {
  pass.reject(window, window.from, window.end, line, `is longer than ${formatBytes(recordBytes)}`)
  do {
    const end = window.bytes.subarray(0, window.end).indexOf(LF, window.from)
    window.from = end < 0 ? window.end : end + 1
    if (end >= 0) return
  } while (await window.grow())
}
