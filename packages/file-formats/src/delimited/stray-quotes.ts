import type { DelimitedGrammar } from './dialect/dialect.ts'
import { HAS_DOUBLED_QUOTES, IS_QUOTED, NEEDS_ESCAPE, type RecordScanner } from './record-scanner.ts'

const LF = 10
const CR = 13

/** The maximum steps for one record: the number of delimiters times the number of those that are inside fields. */
const maxSteps = 100_000

/** One possible reading of a field that starts after a delimiter. */
interface FieldReading {
  start: number
  end: number
  marks: number
  /** The number of quotes in the field that neither enclose it nor are doubled. */
  strayQuotes: number
  /** The index of the next field's start, or the number of starts if this is the record's last field. */
  next: number
}

/**
 * The reading with the fewest stray quotes for the rest of a record. `isUnique` is false if another reading has equally
 * few.
 */
interface RestReading {
  strayQuotes: number
  first: FieldReading
  isUnique: boolean
}

/**
 * Reads a record with broken quotes, from `from` to `end` without its line end, as exactly `fieldCount` fields. In this
 * reading, a quoted field may contain undoubled quotes that are not next to a delimiter, and an unquoted field may
 * start with a quote. The reading with the fewest of these stray quotes counts. Sets the scanner's fields and returns
 * true if exactly one such reading exists. Returns false for grammars with an escape character or padding, which would
 * allow more readings.
 */
export function readStrayQuotes(
  scanner: RecordScanner,
  bytes: Uint8Array,
  from: number,
  end: number,
  grammar: DelimitedGrammar,
  fieldCount: number,
): boolean {
  if (grammar.quote < 0 || grammar.escape >= 0 || grammar.padded) return false
  const readings = listReadings(bytes, from, end, grammar, fieldCount)
  const bestReading = readings && findBestReading(readings, fieldCount)
  if (!bestReading) return false
  for (const [index, field] of bestReading.entries()) {
    scanner.starts[index] = field.start
    scanner.ends[index] = field.end
    scanner.marks[index] = field.marks
  }
  scanner.count = fieldCount
  return true
}

/**
 * Returns the possible readings of each field, in the order of the delimiters before them. Returns undefined if there
 * are too many or too few delimiters.
 */
function listReadings(
  bytes: Uint8Array,
  from: number,
  end: number,
  grammar: DelimitedGrammar,
  fieldCount: number,
): FieldReading[][] | undefined {
  const starts = [from]
  for (let position = from; position < end; position++)
    if (bytes[position] === grammar.delimiter) starts.push(position + 1)
  const delimitersInside = starts.length - fieldCount
  if (delimitersInside < 0 || starts.length * (delimitersInside + 1) > maxSteps) return undefined
  const startIndexes = new Map(starts.map((start, index) => [start, index]))
  const indexOfNextField = (fieldEnd: number) => (fieldEnd === end ? starts.length : startIndexes.get(fieldEnd + 1)!)
  return starts.map((start, index) => {
    const readings: FieldReading[] = []
    const fieldEnd = (starts[index + 1] ?? end + 1) - 1
    const isOpened = start < end && bytes[start] === grammar.quote
    const strayQuotes = isOpened ? countQuotes(bytes, start, fieldEnd, grammar.quote) : 0
    if (!bytes.subarray(start, fieldEnd).some((byte) => byte === LF || byte === CR))
      readings.push({ start, end: fieldEnd, marks: NEEDS_ESCAPE, strayQuotes, next: index + 1 })
    if (!isOpened) return readings
    const strictClosingQuote = findClosingQuote(bytes, start + 1, end, grammar, true)
    const lenientClosingQuote = findClosingQuote(bytes, start + 1, end, grammar, false)
    const marks = IS_QUOTED | NEEDS_ESCAPE
    if (strictClosingQuote >= 0) {
      const isDoubled = countQuotes(bytes, start + 1, strictClosingQuote, grammar.quote) > 0
      const strictMarks = isDoubled ? marks | HAS_DOUBLED_QUOTES : marks
      readings.push({
        start: start + 1,
        end: strictClosingQuote,
        marks: strictMarks,
        strayQuotes: 0,
        next: indexOfNextField(strictClosingQuote + 1),
      })
    }
    if (lenientClosingQuote >= 0 && lenientClosingQuote !== strictClosingQuote) {
      const innerQuotes = countQuotes(bytes, start + 1, lenientClosingQuote, grammar.quote)
      readings.push({
        start: start + 1,
        end: lenientClosingQuote,
        marks,
        strayQuotes: innerQuotes,
        next: indexOfNextField(lenientClosingQuote + 1),
      })
    }
    return readings
  })
}

/**
 * Returns the position of the quote that closes a field: the first quote followed by a delimiter or the end of the
 * record. Returns -1 if no quote does. With `isStrict`, quotes inside the field must be doubled; otherwise they must
 * not follow a delimiter.
 */
function findClosingQuote(
  bytes: Uint8Array,
  from: number,
  end: number,
  { delimiter, quote }: DelimitedGrammar,
  isStrict: boolean,
): number {
  for (let position = from; position < end; position++) {
    if (bytes[position] !== quote) continue
    if (isStrict && position + 1 < end && bytes[position + 1] === quote) {
      position++
      continue
    }
    if (position + 1 === end || bytes[position + 1] === delimiter) return position
    if (isStrict || bytes[position - 1] === delimiter) return -1
  }
  return -1
}

function countQuotes(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let count = 0
  for (let position = from; position < to; position++) if (bytes[position] === quote) count++
  return count
}

/**
 * Returns the fields of the reading with the fewest stray quotes, or undefined unless exactly one such reading exists.
 */
function findBestReading(readings: readonly FieldReading[][], fieldCount: number): FieldReading[] | undefined {
  // rests[index][count] is the best reading of the record from field `index` on as `count` fields.
  const bestRests: (RestReading | undefined)[][] = Array.from({ length: readings.length + 1 }, () => [])
  for (let index = readings.length - 1; index >= 0; index--)
    for (let count = Math.max(1, fieldCount - index); count <= Math.min(fieldCount, readings.length - index); count++)
      for (const first of readings[index]!) {
        const isLast = first.next === readings.length
        const rest = bestRests[first.next]![count - 1]
        if (isLast ? count !== 1 : !rest) continue
        const strayQuotes = first.strayQuotes + (rest?.strayQuotes ?? 0)
        const best = bestRests[index]![count]
        if (best && best.strayQuotes < strayQuotes) continue
        const isUnique = (rest?.isUnique ?? true) && !(best && best.strayQuotes === strayQuotes)
        bestRests[index]![count] = { strayQuotes, first, isUnique }
      }
  const best: FieldReading[] = []
  for (let index = 0; index < readings.length; ) {
    const rest = bestRests[index]![fieldCount - best.length]
    if (!rest?.isUnique) return undefined
    best.push(rest.first)
    index = rest.first.next
  }
  return best.length === fieldCount ? best : undefined
}
