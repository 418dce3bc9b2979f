import { SourceProblem } from '@sluice/row-stream'
import { catchTruncatedRead } from '../spool/byte-source.ts'
import { brokenJson, type ByteWindow, endsTooEarly } from './byte-window.ts'
import { afterSpace, INVALID_JSON, jsonScanner, NEEDS_MORE, OPEN_OBJECT } from './json-scanner.ts'

export type JsonShape =
  /** One object per line (NDJSON). */
  | { kind: 'LINES' }
  /** Consecutive objects without separators. */
  | { kind: 'SEQUENCE' }
  /** The elements of an array: either the whole document, or the value of one of its keys. */
  | { kind: 'ARRAY'; key?: string }

const [OPEN_ARRAY, CLOSE_ARRAY, COMMA] = [91, 93, 44]
const LF = 10
const linesLookedAt = 20
const linesBytes = 64 * 1024

interface ShapeSample {
  window: ByteWindow
  name: string
  recordBytes: number
  rowsUnder: string | undefined
}

/**
 * Determines how the rows are arranged, from the start of a text. A document with a single object is one row, unless it
 * contains arrays of objects: then the rows are in the only such array, or in the one that the options name. If the
 * source is truncated, only the part before the cut is examined. Throws SourceProblem JSON_BROKEN, JSON_AMBIGUOUS or
 * ROWS_NOT_FOUND.
 */
export async function jsonShape(sample: ShapeSample): Promise<JsonShape> {
  const { window, name, recordBytes } = sample
  let isCut = false
  const grow = async () => {
    if (isCut) return false
    const growResult = await window.grow().catch(catchTruncatedRead)
    isCut ||= growResult === 'CUT'
    return growResult !== false
  }
  await grow()
  let start = 0
  while ((start = afterSpace(window.bytes, 0, window.end)) === window.end && (await grow()));
  if (window.bytes[start] === OPEN_ARRAY) return { kind: 'ARRAY' }
  for (;;) {
    const valueEnd = jsonScanner.value(start, window.end)
    if (valueEnd === INVALID_JSON) {
      while (window.end < linesBytes && (await grow()));
      if (someLineIsAnObject(window)) return { kind: 'LINES' }
      throw brokenJson(name, jsonScanner.fault, window.place(jsonScanner.faultAt))
    }
    const nextPosition = valueEnd === NEEDS_MORE ? window.end : afterSpace(window.bytes, valueEnd, window.end)
    if (nextPosition < window.end) return shapeOfSeveral(window, start, valueEnd, nextPosition)
    if (window.end <= recordBytes && (await grow())) continue
    if (valueEnd === NEEDS_MORE && window.complete) throw endsTooEarly(name, window.place(window.end))
    return shapeOfOne(sample, start, isCut)
  }
}

function shapeOfSeveral({ bytes }: ByteWindow, start: number, valueEnd: number, nextPosition: number): JsonShape {
  const isInOneLine = !bytes.subarray(start, valueEnd).includes(LF)
  const isAtLineEnd = bytes.subarray(valueEnd, nextPosition).includes(LF) || bytes[nextPosition] !== OPEN_OBJECT
  return { kind: isInOneLine && isAtLineEnd ? 'LINES' : 'SEQUENCE' }
}

/** True if one of the first lines is a complete JSON object. */
function someLineIsAnObject({ bytes, end }: ByteWindow): boolean {
  let from = 0
  for (let lines = 0; lines < linesLookedAt && from < end; lines++) {
    const lineEnd = bytes.subarray(0, end).indexOf(LF, from)
    const to = lineEnd < 0 ? end : lineEnd
    if (bytes[from] === OPEN_OBJECT) {
      const valueEnd = jsonScanner.value(from, to)
      if (valueEnd > 0 && afterSpace(bytes, valueEnd, to) === to) return true
    }
    from = to + 1
  }
  return false
}

/** Returns the shape of a document that is a single object. Possibly only its start is available. */
function shapeOfOne({ window, name, rowsUnder }: ShapeSample, start: number, isCut: boolean): JsonShape {
  const arrays = arraysUnderKeys(window, start)
  if (rowsUnder !== undefined) {
    if (isCut || arrays.some(({ key }) => key === rowsUnder)) return { kind: 'ARRAY', key: rowsUnder }
    throw new SourceProblem(
      'ROWS_NOT_FOUND',
      `${name} has no array of objects under the key ${rowsUnder}. Correct the key, or the file.`,
    )
  }
  const [firstArray, secondArray] = arrays.some(({ empty }) => !empty) ? arrays.filter(({ empty }) => !empty) : arrays
  // A single line may be a document or the only row of NDJSON. Only in this case, the file name decides.
  if (/\.(ndjson|jsonl)\b/i.test(name) && (window.complete || isCut)) return { kind: 'LINES' }
  if (firstArray && secondArray) throw ambiguousArraysProblem(name, firstArray.key, secondArray.key)
  return firstArray ? { kind: 'ARRAY', key: firstArray.key } : { kind: 'SEQUENCE' }
}

export function ambiguousArraysProblem(name: string, firstKey: string, secondKey: string): SourceProblem {
  const text = `${name} has several arrays of objects, at least under ${firstKey} and ${secondKey}. Set rowsUnder to the key of the rows, or upload only that array.`
  return new SourceProblem('JSON_AMBIGUOUS', text)
}

/** Returns the keys with arrays that are empty or start with an object. */
function arraysUnderKeys({ bytes, end }: ByteWindow, start: number): { key: string; empty: boolean }[] {
  const arrays: { key: string; empty: boolean }[] = []
  let position = start
  do {
    const keyStart = afterSpace(bytes, position + 1, end)
    const valueSeparator = jsonScanner.key(keyStart, end)
    if (valueSeparator < 0) break
    const valueStart = afterSpace(bytes, valueSeparator, end)
    const firstByteInArray =
      bytes[valueStart] === OPEN_ARRAY ? bytes[afterSpace(bytes, valueStart + 1, end)] : undefined
    const key = JSON.parse(bytes.toString('utf8', keyStart, jsonScanner.string(keyStart, end))) as string
    if (firstByteInArray === OPEN_OBJECT || firstByteInArray === CLOSE_ARRAY)
      arrays.push({ key, empty: firstByteInArray === CLOSE_ARRAY })
    position = jsonScanner.value(valueStart, end)
    if (position > 0) position = afterSpace(bytes, position, end)
  } while (position > 0 && bytes[position] === COMMA)
  return arrays
}
