import { SourceProblem } from '@sluice/row-stream'
import type { JsonCursor } from './json-cursor.ts'
import type { JsonPass } from './convert-json-objects.ts'
import { skipSpace, INVALID_JSON, COMMA, jsonScanner, NEEDS_MORE, OPEN_ARRAY, OPEN_OBJECT } from './json-scanner.ts'
import { ambiguousArraysProblem } from './detect-json-shape.ts'
import { type ByteWindow, formatBytes } from './byte-window.ts'

const CLOSE_ARRAY = 93
const CLOSE_OBJECT = 125
/** Results of `processValues` besides NEEDS_MORE. ARRAY_END: the array was read up to its closing bracket. */
const ARRAY_END = -3
/** The last value was processed, and the window ends before the comma or bracket after it. */
const SEPARATOR_MISSING = -4

/**
 * Processes consecutive objects up to the end of the text. A broken object ends the walk with an error, because the
 * start of the next object is unknown.
 */
export async function walkSequence(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  while ((await cursor.peek()) !== undefined) {
    processValues(cursor, pass, false)
    const isAllProcessed = cursor.window.from === cursor.window.end
    if (isAllProcessed) continue
    if (isTooLong(cursor)) await rejectLongValue(cursor, pass)
    else await cursor.readMore()
  }
}

/**
 * Processes the elements of the array that is the document, or that the document's object has under `key`. The rest of
 * the document must be valid too. With `forbidOtherArrays`, throws SourceProblem if another key has an array of
 * objects.
 */
export async function walkArray(
  cursor: JsonCursor,
  pass: JsonPass,
  key?: string,
  forbidOtherArrays = false,
): Promise<void> {
  const { window } = cursor
  if (key !== undefined) await skipToKey(cursor, key)
  await cursor.expect(OPEN_ARRAY)
  if ((await cursor.peek()) === CLOSE_ARRAY) window.from++
  else await processArrayElements(cursor, pass)
  if (key !== undefined) await skipRestOfObject(cursor, key, forbidOtherArrays)
  if ((await cursor.peek()) === undefined) return
  throw cursor.syntaxProblem('the document has more text after its end', window.from)
}

/** Processes the elements of an array up to its closing bracket. */
async function processArrayElements(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  const { window } = cursor
  for (;;) {
    const outcome = processValues(cursor, pass, true)
    if (outcome === ARRAY_END) return
    if (outcome === NEEDS_MORE && !isTooLong(cursor)) {
      await cursor.readMore()
      continue
    }
    if (outcome === NEEDS_MORE) await rejectLongValue(cursor, pass)
    // The value before the end of the window was processed. Its separator follows.
    if ((await cursor.peek()) === CLOSE_ARRAY) {
      window.from++
      return
    }
    await cursor.expect(COMMA)
  }
}

/** True if the value at the window's start exceeds the maximum length of a record. */
const isTooLong = ({ window, recordBytes }: JsonCursor): boolean => window.end - window.from > recordBytes

/** Rejects the value at the window's start, and skips the rest of it. */
async function rejectLongValue(cursor: JsonCursor, pass: JsonPass): Promise<void> {
  const { window, recordBytes } = cursor
  const { line } = window.locate(window.from)
  pass.reject(window, window.from, window.end, line, `is longer than ${formatBytes(recordBytes)}`)
  await cursor.skipLongValue()
}

/**
 * Processes the complete values in the window. With `isArray`, they are elements of an array, separated by commas.
 * Otherwise, they are consecutive objects without commas. Returns why it stopped:
 * - NEEDS_MORE: the window ends, possibly inside a value.
 * - ARRAY_END: the array was read up to its closing bracket.
 * - SEPARATOR_MISSING: the window ends in long white space between a processed value and the comma or bracket after it.
 */
function processValues(
  cursor: JsonCursor,
  pass: JsonPass,
  isArray: boolean,
): typeof NEEDS_MORE | typeof ARRAY_END | typeof SEPARATOR_MISSING {
  const { window } = cursor
  const { bytes, end } = window
  for (;;) {
    window.from = skipSpace(bytes, window.from, end)
    const { from } = window
    if (from === end) return NEEDS_MORE
    const isObject = bytes[from] === OPEN_OBJECT
    const valueEnd = isObject ? pass.record.read(from, end) : jsonScanner.value(from, end)
    if (valueEnd === INVALID_JSON) throw cursor.syntaxProblem(jsonScanner.fault, jsonScanner.faultAt)
    if (valueEnd === NEEDS_MORE) return NEEDS_MORE
    if (!isArray) {
      processValue(cursor, pass, valueEnd, isObject)
      window.from = valueEnd
      continue
    }
    const separator = skipSpace(bytes, valueEnd, end)
    const isSeparatorMissing = separator === end
    // An element is processed once its separator is available, so the caller reads more. It is processed earlier only
    // if white space after it makes the window too long.
    if (isSeparatorMissing && !isTooLong(cursor)) return NEEDS_MORE
    processValue(cursor, pass, valueEnd, isObject)
    window.from = valueEnd
    if (isSeparatorMissing) return SEPARATOR_MISSING
    window.from = separator + 1
    if (bytes[separator] === CLOSE_ARRAY) return ARRAY_END
    if (bytes[separator] !== COMMA) throw cursor.syntaxProblem('a comma or ] is expected', separator)
  }
}

/**
 * Processes the value from the start of the window to `valueEnd`. Rejects it if it is too long or not an object.
 * Throws SourceProblem if the first value is not an object, because the text then has no rows.
 */
function processValue(cursor: JsonCursor, pass: JsonPass, valueEnd: number, isObject: boolean): void {
  const { window, recordBytes } = cursor
  const { from } = window
  const findLine = () => window.locate(from).line
  if (valueEnd - from > recordBytes)
    return pass.reject(window, from, valueEnd, findLine(), `is longer than ${formatBytes(recordBytes)}`)
  if (isObject) return pass.processObject(window, from, valueEnd, findLine)
  if (pass.rows === 0) throw notObjectsProblem(cursor, findLine())
  pass.reject(window, from, valueEnd, findLine(), 'is not a JSON object')
}

/** Moves to the position after this key of the document's object and its colon. */
async function skipToKey(cursor: JsonCursor, key: string): Promise<void> {
  await cursor.expect(OPEN_OBJECT)
  while ((await cursor.readKey()) !== key) {
    await cursor.skipValue()
    await cursor.expect(COMMA)
  }
}

/** Reads the rest of the document's object, after the array of rows. */
async function skipRestOfObject(cursor: JsonCursor, arrayKey: string, forbidOtherArrays: boolean): Promise<void> {
  while ((await cursor.peek()) === COMMA) {
    await cursor.expect(COMMA)
    const key = await cursor.readKey()
    const [firstByte, secondByte] = await cursor.skipValue()
    const isArrayOfObjects = firstByte === OPEN_ARRAY && secondByte === OPEN_OBJECT
    if (forbidOtherArrays && isArrayOfObjects) throw ambiguousArraysProblem(cursor.name, arrayKey, key)
  }
  await cursor.expect(CLOSE_OBJECT)
}

function notObjectsProblem({ name }: JsonCursor, line: number): SourceProblem {
  const text = `${name} has values that are not objects (line ${line}). Rows must be objects with the columns as keys.`
  return new SourceProblem('JSON_NOT_ROWS', text)
}

const LF = 10

/** Processes one object per line. An invalid line is rejected and does not affect other lines. Skips blank lines. */
export async function walkLines(window: ByteWindow, pass: JsonPass, recordBytes: number): Promise<void> {
  let line = 1
  do {
    line = processCompleteLines(window, pass, line, recordBytes)
    if (window.end - window.from > recordBytes) await rejectLongLine(window, pass, line++, recordBytes)
  } while (await window.grow())
  if (window.from < window.end) processLine(window, pass, window.from, window.end, line, recordBytes)
}

/** Processes all lines of the window that have a line end. Returns the number of the line after them. */
function processCompleteLines(window: ByteWindow, pass: JsonPass, firstLine: number, recordBytes: number): number {
  const bytes = window.bytes.subarray(0, window.end)
  let line = firstLine
  for (;;) {
    // Moves `window.from` to the first line that needs the slower `processLine`.
    line += pass.processRegularLines(window, recordBytes)
    const lineEnd = bytes.indexOf(LF, window.from)
    if (lineEnd < 0) return line
    processLine(window, pass, window.from, lineEnd, line, recordBytes)
    window.from = lineEnd + 1
    line++
  }
}

/** Processes one line. Skips a blank line. Rejects a line that is too long or is not exactly one JSON object. */
function processLine(
  window: ByteWindow,
  pass: JsonPass,
  from: number,
  end: number,
  line: number,
  recordBytes: number,
): void {
  const { bytes } = window
  const { record } = pass
  const start = skipSpace(bytes, from, end)
  if (start === end) return
  const reject = (reason: string) => pass.reject(window, from, end, line, reason)
  if (end - from > recordBytes) return reject(`is longer than ${formatBytes(recordBytes)}`)
  if (bytes[start] !== OPEN_OBJECT) return reject('is not a JSON object')
  const objectEnd = record.read(start, end)
  if (objectEnd === NEEDS_MORE) return reject('ends in the middle of an object')
  if (objectEnd === INVALID_JSON)
    return reject(`${jsonScanner.fault} (byte ${jsonScanner.faultAt - from + 1} of the line)`)
  if (skipSpace(bytes, objectEnd, end) < end)
    return reject(`the line has more text after the object (byte ${objectEnd - from + 1} of the line)`)
  pass.processObject(window, from, end, () => line)
}

/** Rejects the line at the window's start, which is too long for memory, and skips it. */
async function rejectLongLine(window: ByteWindow, pass: JsonPass, line: number, recordBytes: number): Promise<void> {
  pass.reject(window, window.from, window.end, line, `is longer than ${formatBytes(recordBytes)}`)
  do {
    const end = window.bytes.subarray(0, window.end).indexOf(LF, window.from)
    window.from = end < 0 ? window.end : end + 1
    if (end >= 0) return
  } while (await window.grow())
}
