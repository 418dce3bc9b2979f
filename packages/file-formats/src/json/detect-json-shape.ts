import { SourceProblem } from '@sluice/row-stream'
import { catchTruncatedRead } from '../spool/byte-source.ts'
import { invalidJsonProblem, type ByteWindow, truncatedJsonProblem } from './byte-window.ts'
import { skipSpace, INVALID_JSON, jsonScanner, NEEDS_MORE, OPEN_OBJECT } from './json-scanner.ts'

export type JsonShape =
  /** One object per line (NDJSON). */
  | { kind: 'LINES' }
  /** Consecutive objects without separators. */
  | { kind: 'SEQUENCE' }
  /** The elements of an array: either the whole document, or the value of one of its keys. */
  | { kind: 'ARRAY'; key?: string }

const [OPEN_ARRAY, CLOSE_ARRAY, COMMA] = [91, 93, 44]
const LF = 10
const maxExaminedLines = 20
const linesBytes = 64 * 1024

interface ShapeSample {
  window: ByteWindow
  name: string
  recordBytes: number
  rowsUnder: string | undefined
}

/**
 * Determines how the rows are arranged, from the start of a text. A document with a single object is one row, unless it
 * has arrays of objects: then the rows are in the only such array, or in the one that the options name. If the source
 * is truncated, examines only the part before the cut. Throws SourceProblem JSON_BROKEN, JSON_AMBIGUOUS or
 * ROWS_NOT_FOUND.
 */
export async function detectShape(sample: ShapeSample): Promise<JsonShape> {
  const { window, name, recordBytes } = sample
  let isTruncated = false
  /** Reads more of the text. Returns false at its end, or where the source is truncated. */
  const readMore = async () => {
    if (isTruncated) return false
    const hasMore = await window.grow().catch(catchTruncatedRead)
    isTruncated = hasMore === 'TRUNCATED'
    return hasMore !== false
  }
  const findStart = () => skipSpace(window.bytes, 0, window.end)
  await readMore()
  while (findStart() === window.end && (await readMore()));
  const start = findStart()
  if (window.bytes[start] === OPEN_ARRAY) return { kind: 'ARRAY' }
  for (;;) {
    const valueEnd = jsonScanner.value(start, window.end)
    if (valueEnd === INVALID_JSON) {
      // In NDJSON, an invalid line does not make the other lines invalid.
      while (window.end < linesBytes && (await readMore()));
      if (hasObjectLine(window)) return { kind: 'LINES' }
      throw invalidJsonProblem(name, jsonScanner.fault, window.locate(jsonScanner.faultAt))
    }
    const isIncomplete = valueEnd === NEEDS_MORE
    const nextPosition = isIncomplete ? window.end : skipSpace(window.bytes, valueEnd, window.end)
    const hasNextValue = nextPosition < window.end
    if (hasNextValue) return shapeOfConsecutiveValues(window, start, valueEnd, nextPosition)
    const mayReadMore = window.end <= recordBytes
    if (mayReadMore && (await readMore())) continue
    if (isIncomplete && window.complete) throw truncatedJsonProblem(name, window.locate(window.end))
    return shapeOfSingleValue(sample, start, isTruncated)
  }
}

/**
 * Returns the shape of a text with more text after its first value, from that value (`start` to `valueEnd`) and the
 * position of the text after it:
 * - SEQUENCE if the value has several lines, as an indented object has.
 * - SEQUENCE if an object follows in the same line, as in `{"a":1} {"a":2}`.
 * - LINES if the text after it starts in another line.
 * - LINES if something else follows in the same line, as in `{"a":1} x`. Only this line is then rejected. In a
 *   SEQUENCE, it would make the whole text invalid.
 */
function shapeOfConsecutiveValues(
  { bytes }: ByteWindow,
  start: number,
  valueEnd: number,
  nextPosition: number,
): JsonShape {
  const hasSeveralLines = bytes.subarray(start, valueEnd).includes(LF)
  if (hasSeveralLines) return { kind: 'SEQUENCE' }
  const isNextInSameLine = !bytes.subarray(valueEnd, nextPosition).includes(LF)
  const isNextAnObject = bytes[nextPosition] === OPEN_OBJECT
  return { kind: isNextInSameLine && isNextAnObject ? 'SEQUENCE' : 'LINES' }
}

/** True if one of the first lines is a complete JSON object. */
function hasObjectLine({ bytes, end }: ByteWindow): boolean {
  let from = 0
  for (let lines = 0; lines < maxExaminedLines && from < end; lines++) {
    const lineEnd = bytes.subarray(0, end).indexOf(LF, from)
    const to = lineEnd < 0 ? end : lineEnd
    if (bytes[from] === OPEN_OBJECT) {
      const valueEnd = jsonScanner.value(from, to)
      if (valueEnd > 0 && skipSpace(bytes, valueEnd, to) === to) return true
    }
    from = to + 1
  }
  return false
}

/**
 * Returns the shape of a text that has a single object, as far as it is available: the array of rows in the object, or
 * the object itself as the only row.
 */
function shapeOfSingleValue({ window, name, rowsUnder }: ShapeSample, start: number, isTruncated: boolean): JsonShape {
  const arrays = findRowArrays(window, start)
  if (rowsUnder !== undefined) {
    const isFound = arrays.some(({ key }) => key === rowsUnder)
    // The array may be in the part that was not read.
    if (isFound || isTruncated) return { kind: 'ARRAY', key: rowsUnder }
    throw new SourceProblem(
      'ROWS_NOT_FOUND',
      `${name} has no array of objects under the key ${rowsUnder}. Correct the key, or the file.`,
    )
  }
  // A single object may be a document or the only line of NDJSON. Only in this case, the file name decides.
  const isNamedAsLines = /\.(ndjson|jsonl)\b/i.test(name)
  if (isNamedAsLines && (window.complete || isTruncated)) return { kind: 'LINES' }
  // An empty array counts only if all arrays are empty.
  const nonEmptyArrays = arrays.filter(({ isEmpty }) => !isEmpty)
  const [firstArray, secondArray] = nonEmptyArrays.length > 0 ? nonEmptyArrays : arrays
  if (firstArray && secondArray) throw ambiguousArraysProblem(name, firstArray.key, secondArray.key)
  return firstArray ? { kind: 'ARRAY', key: firstArray.key } : { kind: 'SEQUENCE' }
}

export function ambiguousArraysProblem(name: string, firstKey: string, secondKey: string): SourceProblem {
  const text = `${name} has several arrays of objects, at least under ${firstKey} and ${secondKey}. Set rowsUnder to the key of the rows, or upload only that array.`
  return new SourceProblem('JSON_AMBIGUOUS', text)
}

/**
 * Returns the arrays in an object that are empty or start with an object, in order. Stops where the available text
 * ends.
 */
function findRowArrays({ bytes, end }: ByteWindow, start: number): { key: string; isEmpty: boolean }[] {
  const arrays: { key: string; isEmpty: boolean }[] = []
  // The position of the brace before the first key, then of the comma before each further key.
  let separator = start
  for (;;) {
    const keyStart = skipSpace(bytes, separator + 1, end)
    const colonEnd = jsonScanner.key(keyStart, end)
    if (colonEnd < 0) return arrays
    const key = JSON.parse(bytes.toString('utf8', keyStart, jsonScanner.string(keyStart, end))) as string
    const valueStart = skipSpace(bytes, colonEnd, end)
    if (bytes[valueStart] === OPEN_ARRAY) {
      const firstByte = bytes[skipSpace(bytes, valueStart + 1, end)]
      if (firstByte === OPEN_OBJECT) arrays.push({ key, isEmpty: false })
      if (firstByte === CLOSE_ARRAY) arrays.push({ key, isEmpty: true })
    }
    const valueEnd = jsonScanner.value(valueStart, end)
    if (valueEnd < 0) return arrays
    separator = skipSpace(bytes, valueEnd, end)
    if (bytes[separator] !== COMMA) return arrays
  }
}
