import type { DelimitedGrammar } from './dialect/dialect.ts'
import { HAS_DOUBLED_QUOTES, IS_QUOTED, NEEDS_ESCAPE, type RecordScanner } from './record-scanner.ts'

const LF = 10
const CR = 13

/** The maximum steps for one record: the number of possible fields times the number of delimiters inside fields. */
const maxSteps = 100_000

/** One possible reading of a field that starts after a delimiter. */
interface FieldReading {
  start: number
  end: number
  flags: number
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
 * start with a quote. Chooses the reading with the fewest of these stray quotes. If exactly one such reading exists,
 * writes its fields to the scanner and returns true. Otherwise returns false, and also for grammars with an escape
 * character or padding, which would allow more readings.
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
  const bestReading = readings && chooseReading(readings, fieldCount)
  if (!bestReading) return false
  for (const [index, field] of bestReading.entries()) {
    scanner.starts[index] = field.start
    scanner.ends[index] = field.end
    scanner.fieldFlags[index] = field.flags
  }
  scanner.count = fieldCount
  return true
}

/**
 * Returns the possible readings of a field at each position where a field can start: at the start of the record and
 * after each delimiter. Returns undefined if there are too few delimiters, or too many to try all readings.
 */
function listReadings(
  bytes: Uint8Array,
  from: number,
  end: number,
  grammar: DelimitedGrammar,
  fieldCount: number,
): FieldReading[][] | undefined {
  const starts = [from]
  for (let position = from; position < end; position++) {
    if (bytes[position] === grammar.delimiter) starts.push(position + 1)
  }
  const delimitersInside = starts.length - fieldCount
  if (delimitersInside < 0 || starts.length * (delimitersInside + 1) > maxSteps) return undefined
  const startIndexes = new Map(starts.map((start, index) => [start, index]))
  const indexOfNextField = (fieldEnd: number) => (fieldEnd === end ? starts.length : startIndexes.get(fieldEnd + 1)!)
  return starts.map((start, index) => {
    const readings: FieldReading[] = []
    const fieldEnd = (starts[index + 1] ?? end + 1) - 1
    const startsWithQuote = start < end && bytes[start] === grammar.quote
    const hasLineEnd = bytes.subarray(start, fieldEnd).some((byte) => byte === LF || byte === CR)
    if (!hasLineEnd) {
      const strayQuotes = startsWithQuote ? countQuotes(bytes, start, fieldEnd, grammar.quote) : 0
      readings.push({ start, end: fieldEnd, flags: NEEDS_ESCAPE, strayQuotes, next: index + 1 })
    }
    if (!startsWithQuote) return readings
    const strictClosingQuote = findStrictClosingQuote(bytes, start + 1, end, grammar)
    const lenientClosingQuote = findLenientClosingQuote(bytes, start + 1, end, grammar)
    const flags = IS_QUOTED | NEEDS_ESCAPE
    if (strictClosingQuote >= 0) {
      const isDoubled = countQuotes(bytes, start + 1, strictClosingQuote, grammar.quote) > 0
      const strictFlags = isDoubled ? flags | HAS_DOUBLED_QUOTES : flags
      readings.push({
        start: start + 1,
        end: strictClosingQuote,
        flags: strictFlags,
        strayQuotes: 0,
        next: indexOfNextField(strictClosingQuote + 1),
      })
    }
    if (lenientClosingQuote >= 0 && lenientClosingQuote !== strictClosingQuote) {
      const innerQuotes = countQuotes(bytes, start + 1, lenientClosingQuote, grammar.quote)
      readings.push({
        start: start + 1,
        end: lenientClosingQuote,
        flags,
        strayQuotes: innerQuotes,
        next: indexOfNextField(lenientClosingQuote + 1),
      })
    }
    return readings
  })
}

/**
 * Returns the position of the quote that closes a field by the usual rules, which start inside the field at `from`: the
 * first quote that is not doubled, as the last quote of `"6"" pipe",2`. Returns -1 if no such quote exists before
 * `end`, or if neither a delimiter nor the end of the record follows it.
 */
function findStrictClosingQuote(
  bytes: Uint8Array,
  from: number,
  end: number,
  { delimiter, quote }: DelimitedGrammar,
): number {
  for (let position = from; position < end; position++) {
    if (bytes[position] !== quote) continue
    const isDoubled = position + 1 < end && bytes[position + 1] === quote
    if (!isDoubled) return endsField(bytes, position + 1, end, delimiter) ? position : -1
    position++
  }
  return -1
}

/**
 * Returns the position of the quote that closes a field with undoubled quotes in its text, starting inside the field at
 * `from`: the first quote with a delimiter or the end of the record after it, as the last quote of `"6" pipe",2`.
 * Returns -1 if another quote follows a delimiter before that, as in `"6" pipe,"2"`, because it opens the next field.
 */
function findLenientClosingQuote(
  bytes: Uint8Array,
  from: number,
  end: number,
  { delimiter, quote }: DelimitedGrammar,
): number {
  for (let position = from; position < end; position++) {
    if (bytes[position] !== quote) continue
    if (endsField(bytes, position + 1, end, delimiter)) return position
    if (bytes[position - 1] === delimiter) return -1
  }
  return -1
}

/** True if a delimiter or the end of the record is at a position. */
function endsField(bytes: Uint8Array, position: number, end: number, delimiter: number): boolean {
  return position === end || bytes[position] === delimiter
}

function countQuotes(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let count = 0
  for (let position = from; position < to; position++) if (bytes[position] === quote) count++
  return count
}

/**
 * Returns the fields of the reading with the fewest stray quotes. Returns undefined if no reading has `fieldCount`
 * fields, or if several readings have equally few stray quotes.
 */
function chooseReading(readings: readonly FieldReading[][], fieldCount: number): FieldReading[] | undefined {
  // bestReadings[index][count] is the best reading of the rest of the record, from field `index` on, as `count` fields.
  const bestReadings: (RestReading | undefined)[][] = Array.from({ length: readings.length + 1 }, () => [])
  for (let index = readings.length - 1; index >= 0; index--)
    for (let count = Math.max(1, fieldCount - index); count <= Math.min(fieldCount, readings.length - index); count++)
      for (const first of readings[index]!) {
        const isLast = first.next === readings.length
        const rest = bestReadings[first.next]![count - 1]
        if (isLast ? count !== 1 : !rest) continue
        const strayQuotes = first.strayQuotes + (rest?.strayQuotes ?? 0)
        const best = bestReadings[index]![count]
        if (best && best.strayQuotes < strayQuotes) continue
        const isTie = best?.strayQuotes === strayQuotes
        const isRestUnique = isLast || rest!.isUnique
        const isUnique = isRestUnique && !isTie
        bestReadings[index]![count] = { strayQuotes, first, isUnique }
      }
  const fields: FieldReading[] = []
  for (let index = 0; index < readings.length; ) {
    const rest = bestReadings[index]![fieldCount - fields.length]
    if (!rest?.isUnique) return undefined
    fields.push(rest.first)
    index = rest.first.next
  }
  return fields.length === fieldCount ? fields : undefined
}
