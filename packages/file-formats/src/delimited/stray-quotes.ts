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
 * Reads a record with broken quotes, from `from` to `end` without its line end, as exactly `fieldCount` fields. There
 * may be several readings, which are ways to divide the record into fields: a quoted field may contain undoubled quotes
 * that are not next to a delimiter, and an unquoted field may start with a quote. If exactly one reading has the fewest
 * stray quotes, writes its fields to the scanner and returns true. Otherwise returns false, and also for grammars with
 * an escape character or padding, which would allow more readings.
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
 * Returns a list for each position where a field can start: at the start of the record and after each delimiter. The
 * list contains the possible readings of such a field: unquoted, quoted, and quoted with stray quotes inside. Returns
 * undefined if there are too few delimiters, or too many to try all readings.
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
  const delimitersInFields = starts.length - fieldCount
  if (delimitersInFields < 0 || starts.length * (delimitersInFields + 1) > maxSteps) return undefined
  const startIndexes = new Map(starts.map((start, index) => [start, index]))
  /** A field that ends the record has the number of starts as the index of its next field. */
  const indexOfNextField = (fieldEnd: number) => (fieldEnd === end ? starts.length : startIndexes.get(fieldEnd + 1)!)
  return starts.map((start, index) => {
    const isLastStart = index === starts.length - 1
    const unquotedEnd = isLastStart ? end : starts[index + 1]! - 1
    return [
      ...listUnquotedReadings(bytes, start, unquotedEnd, grammar, index + 1),
      ...listQuotedReadings(bytes, start, end, grammar, indexOfNextField),
    ]
  })
}

/**
 * Returns the reading of a field as an unquoted one, up to the next delimiter. If it starts with a quote, all its
 * quotes are stray quotes. Returns an empty list if it contains a line end, which only a quoted field may contain.
 */
function listUnquotedReadings(
  bytes: Uint8Array,
  start: number,
  end: number,
  { quote }: DelimitedGrammar,
  next: number,
): FieldReading[] {
  const hasLineEnd = bytes.subarray(start, end).some((byte) => byte === LF || byte === CR)
  if (hasLineEnd) return []
  const startsWithQuote = start < end && bytes[start] === quote
  const strayQuotes = startsWithQuote ? countQuotes(bytes, start, end, quote) : 0
  return [{ start, end, flags: NEEDS_ESCAPE, strayQuotes, next }]
}

/**
 * Returns the readings of a field as a quoted one, with doubled quotes and with stray quotes inside. Returns an empty
 * list if it does not start with a quote. `recordEnd` is the end of the record.
 */
function listQuotedReadings(
  bytes: Uint8Array,
  start: number,
  recordEnd: number,
  grammar: DelimitedGrammar,
  indexOfNextField: (fieldEnd: number) => number,
): FieldReading[] {
  const startsWithQuote = start < recordEnd && bytes[start] === grammar.quote
  if (!startsWithQuote) return []
  const readings: FieldReading[] = []
  const textStart = start + 1
  const flags = IS_QUOTED | NEEDS_ESCAPE
  const strictEnd = findStrictClosingQuote(bytes, textStart, recordEnd, grammar)
  const lenientEnd = findLenientClosingQuote(bytes, textStart, recordEnd, grammar)
  if (strictEnd >= 0) {
    const hasDoubledQuotes = countQuotes(bytes, textStart, strictEnd, grammar.quote) > 0
    readings.push({
      start: textStart,
      end: strictEnd,
      flags: hasDoubledQuotes ? flags | HAS_DOUBLED_QUOTES : flags,
      strayQuotes: 0,
      next: indexOfNextField(strictEnd + 1),
    })
  }
  if (lenientEnd >= 0 && lenientEnd !== strictEnd) {
    readings.push({
      start: textStart,
      end: lenientEnd,
      flags,
      strayQuotes: countQuotes(bytes, textStart, lenientEnd, grammar.quote),
      next: indexOfNextField(lenientEnd + 1),
    })
  }
  return readings
}

/**
 * Returns the position of the quote that closes a field by the usual rules: the first quote that is not doubled, as the
 * last quote of `"6"" pipe",2`. The search starts inside the field, at `from`. Returns -1 if no such quote exists
 * before `end`, or if neither a delimiter nor the end of the record follows it.
 */
function findStrictClosingQuote(
  bytes: Uint8Array,
  from: number,
  end: number,
  { delimiter, quote }: DelimitedGrammar,
): number {
  let position = from
  while (position < end) {
    const isQuote = bytes[position] === quote
    const isDoubled = isQuote && position + 1 < end && bytes[position + 1] === quote
    if (isQuote && !isDoubled) return endsField(bytes, position + 1, end, delimiter) ? position : -1
    position += isDoubled ? 2 : 1
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
 * fields, or if several readings have equally few stray quotes. `readings` has the possible readings of a field for
 * each position where a field can start.
 */
function chooseReading(readings: readonly FieldReading[][], fieldCount: number): FieldReading[] | undefined {
  const bestRests = findBestRests(readings, fieldCount)
  const fields: FieldReading[] = []
  for (let index = 0; index < readings.length; ) {
    const rest = bestRests[index]![fieldCount - fields.length]
    if (!rest?.isUnique) return undefined
    fields.push(rest.first)
    index = rest.first.next
  }
  return fields.length === fieldCount ? fields : undefined
}

/**
 * Returns the best readings of the rest of a record: `[index][count]` is the one from field start `index` on, as
 * `count` fields. Uses dynamic programming: goes from the last start to the first, and extends a shorter rest by one
 * field.
 */
function findBestRests(readings: readonly FieldReading[][], fieldCount: number): (RestReading | undefined)[][] {
  const bestRests: (RestReading | undefined)[][] = Array.from({ length: readings.length + 1 }, () => [])
  for (let index = readings.length - 1; index >= 0; index--) {
    // Before this start are at most `index` fields, and after it at most as many fields as starts.
    const minCount = Math.max(1, fieldCount - index)
    const maxCount = Math.min(fieldCount, readings.length - index)
    for (let count = minCount; count <= maxCount; count++)
      bestRests[index]![count] = findBestRest(readings, bestRests, index, count)
  }
  return bestRests
}

/** Returns the best reading from field start `index` on as `count` fields, from those of all later starts. */
function findBestRest(
  readings: readonly FieldReading[][],
  bestRests: readonly (RestReading | undefined)[][],
  index: number,
  count: number,
): RestReading | undefined {
  let best: RestReading | undefined
  for (const first of readings[index]!) {
    const isLastField = first.next === readings.length
    const restAfterFirst = bestRests[first.next]![count - 1]
    const isPossible = isLastField ? count === 1 : restAfterFirst !== undefined
    if (!isPossible) continue
    const strayQuotes = first.strayQuotes + (restAfterFirst?.strayQuotes ?? 0)
    const isTie = best?.strayQuotes === strayQuotes
    const isWorse = best !== undefined && best.strayQuotes < strayQuotes
    if (isWorse) continue
    best = { strayQuotes, first, isUnique: !isTie && (restAfterFirst?.isUnique ?? true) }
  }
  return best
}
