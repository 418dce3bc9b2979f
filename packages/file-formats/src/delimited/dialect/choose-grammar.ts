import { MISSPLIT_CELL, EMPTY_CELL, INDENTED_CELL, NUMBER_CELL, TEXT_CELL, TIME_CELL } from './cell-kind.ts'
import { type ParsedSample, parseSample, type SampleRecord } from './sample.ts'
import type { DelimitedGrammar } from './dialect.ts'
import { IS_QUOTED } from '../record-scanner.ts'

export interface GrammarChoice {
  grammar: DelimitedGrammar
  /**
   * The confidence in the chosen delimiter, quote and escape, from 0 to 1, based on their lead over the second best.
   */
  confidence: { delimiter: number; quote: number; escape: number; padded: number }
}

/** The part of a sample on which grammars are compared. Only the chosen grammar parses the rest. */
const comparedBytes = 48 * 1024
const comparedRecords = { records: 400, cells: 8_000 }
/** The factor by which a more complex grammar must score higher to be preferred to the simpler one. */
const minimumLead = 1.02
/** In a padded file, at least this share of the fields after a delimiter starts with a space. */
const paddedShare = 0.9
const fewestFaults = 3

/**
 * Returns the grammar (delimiter, quote, escape, padding) that fits the start of a sample best. The confidence of a
 * delimiter or quote is its lead over the best grammar with another one. If the best grammar has a single column and
 * the options name no delimiter, returns a delimiter that does not split any field.
 */
export function chooseGrammar(
  sample: Uint8Array,
  from: number,
  isComplete: boolean,
  declaredGrammar: GivenGrammar,
): GrammarChoice {
  const judgedSample = sample.subarray(from, Math.min(sample.length, from + comparedBytes))
  const candidates = listCandidateGrammars(judgedSample, declaredGrammar).map((grammar) => {
    const parsed = parseSample(sample, from, isComplete, grammar, comparedRecords, from + comparedBytes)
    return { grammar, ...scoreGrammar(parsed), parsed }
  })
  const plausibleCandidates = candidates.filter(
    ({ grammar, parsed }) =>
      (!grammar.padded || declaredGrammar.padded === true || isPadded(parsed)) &&
      (grammar.quote >= 0 ||
        declaredGrammar.quote === -1 ||
        areQuotesText(
          candidates.map((otherCandidate) => otherCandidate.parsed),
          grammar,
        )),
  )
  const bestCandidate = plausibleCandidates.reduce((bestSoFar, otherCandidate) =>
    otherCandidate.total > bestSoFar.total * minimumLead ? otherCandidate : bestSoFar,
  )
  const leadOverAlternatives = (isAlternative: (grammar: DelimitedGrammar) => boolean) => {
    const bestAlternativeScore = Math.max(
      0,
      ...plausibleCandidates
        .filter((otherCandidate) => isAlternative(otherCandidate.grammar))
        .map(({ total }) => total),
    )
    return bestCandidate.total === 0 ? 0 : Math.max(0, Math.min(1, 1 - bestAlternativeScore / bestCandidate.total))
  }
  const confidence = {
    delimiter: confidenceOf(leadOverAlternatives(({ delimiter }) => delimiter !== bestCandidate.grammar.delimiter)),
    quote: confidenceOf(
      leadOverAlternatives(
        ({ quote, delimiter }) =>
          quote !== bestCandidate.grammar.quote && delimiter === bestCandidate.grammar.delimiter,
      ),
    ),
    escape: 1,
    padded: 1,
  }
  if (bestCandidate.width > 1 || declaredGrammar.delimiter !== undefined)
    return { grammar: bestCandidate.grammar, confidence }
  return {
    grammar: { ...bestCandidate.grammar, delimiter: harmlessDelimiter(judgedSample, bestCandidate.grammar) },
    confidence,
  }
}

/** Converts a lead over the second best grammar to a confidence of 0.5 to 1. A lead of a third or more gives 1. */
function confidenceOf(lead: number): number {
  return Math.round(Math.min(1, 0.5 + 1.5 * lead) * 100) / 100
}

/**
 * True if quotes are ordinary text, because most fields that start with a quote are broken. If only a few are broken,
 * these are mistakes, and their rows are rejected.
 */
function areQuotesText(otherParses: readonly ParsedSample[], { delimiter }: DelimitedGrammar): boolean {
  const usual = otherParses.find(({ grammar }) => grammar.quote === 34 && grammar.delimiter === delimiter)
  if (!usual) return true
  const faults = usual.records.filter(({ count }) => count === 0).length
  const quotedFieldCount = usual.records.reduce(
    (sum, { marks }) => sum + marks.filter((mark) => mark & IS_QUOTED).length,
    0,
  )
  return faults >= fewestFaults && faults > quotedFieldCount
}

/** True if nearly all fields after the first of a record have a space next to the preceding delimiter. */
function isPadded({ records, grammar }: ParsedSample): boolean {
  let fieldCount = 0
  let paddedCount = 0
  for (const { kinds, marks, starts, ends } of records) {
    for (let i = 1; i < kinds.length; i++) {
      if (kinds[i] === EMPTY_CELL) continue
      fieldCount++
      // Spaces on both sides have been trimmed, so a field directly after its delimiter had no padding.
      const spaceCount =
        starts[i]! - ends[i - 1]! - (marks[i]! & IS_QUOTED ? 1 : 0) - (marks[i - 1]! & IS_QUOTED ? 1 : 0)
      if (spaceCount > 1) paddedCount++
    }
  }
  return grammar.delimiter !== 32 && fieldCount > 0 && paddedCount / fieldCount >= paddedShare
}

/** Returns a delimiter for a file with a single column: one that does not occur in the sample, or else the rarest. */
function harmlessDelimiter(judgedSample: Uint8Array, { quote, comment }: DelimitedGrammar): number {
  const byteCounts = new Uint32Array(256)
  for (const byte of judgedSample) byteCounts[byte]!++
  const absentDelimiter = guessedDelimiters.find(
    (delimiter) => byteCounts[delimiter] === 0 && delimiter !== quote && delimiter !== comment,
  )
  return absentDelimiter ?? guessedDelimiters.toSorted((a, b) => byteCounts[a]! - byteCounts[b]!)[0]!
}

const guessedDelimiters = [',', ';', '\t', '|', ':', '^', '~', '\u001f'].map((c) => c.charCodeAt(0))

const LF = 10
const CR = 13
const SPACE = 32
const DOUBLE = 34
const SINGLE = 39
const BACKSLASH = 92

/** The parts of a grammar that are known. The others are detected. */
type GivenGrammar = Partial<DelimitedGrammar>

/**
 * Lists the grammars to try on a sample, the simplest first. Includes only delimiters that occur, single quotes only if
 * one starts a field, and backslashes only if one precedes a quote or delimiter.
 */
function listCandidateGrammars(sample: Uint8Array, declaredGrammar: GivenGrammar): DelimitedGrammar[] {
  const counts = countBytes(sample)
  const presentDelimiters = guessedDelimiters.filter((delimiter) => counts.bytes[delimiter]! > 0)
  // If no delimiter occurs, the file has a single column. So one delimiter that does not occur is tried too.
  const absentDelimiters = guessedDelimiters.filter((delimiter) => (counts.bytes[delimiter] ?? 0) === 0).slice(0, 1)
  const delimiters =
    declaredGrammar.delimiter === undefined ? [...presentDelimiters, ...absentDelimiters] : [declaredGrammar.delimiter]
  const comment = declaredGrammar.comment ?? -1
  return delimiters.flatMap((delimiter) =>
    candidateQuotes(counts, delimiter, declaredGrammar).flatMap((quote) =>
      candidateEscapes(counts, delimiter, quote, declaredGrammar).flatMap((escape) =>
        candidatePaddings(counts, delimiter, declaredGrammar).map((isPaddedGrammar) => ({
          delimiter,
          quote,
          escape,
          padded: isPaddedGrammar,
          comment,
          readsStrayQuotes: declaredGrammar.readsStrayQuotes ?? false,
        })),
      ),
    ),
  )
}

interface ByteCounts {
  bytes: Uint32Array
  /** Counts of quotes by the preceding byte, ignoring spaces. Quotes after line ends count for every delimiter. */
  doubleQuoteAfter: Uint32Array
  singleQuoteAfter: Uint32Array
  /** Counts of spaces by the preceding byte. */
  padded: Uint32Array
  /** Counts of backslashes by the following byte. */
  backslashed: Uint32Array
}

/** Counts how often each byte occurs in a sample, in total and next to quotes, spaces and backslashes. */
function countBytes(sample: Uint8Array): ByteCounts {
  const counts: ByteCounts = {
    bytes: new Uint32Array(256),
    doubleQuoteAfter: new Uint32Array(256),
    singleQuoteAfter: new Uint32Array(256),
    padded: new Uint32Array(256),
    backslashed: new Uint32Array(256),
  }
  let previousByte = LF
  let lastNonSpaceByte = LF
  for (let position = 0; position < sample.length; position++) {
    const byte = sample[position]!
    counts.bytes[byte]!++
    if (byte === DOUBLE) counts.doubleQuoteAfter[lastNonSpaceByte]!++
    else if (byte === SINGLE) counts.singleQuoteAfter[lastNonSpaceByte]!++
    else if (byte === SPACE) counts.padded[previousByte]!++
    if (previousByte === BACKSLASH) counts.backslashed[byte]!++
    previousByte = byte
    if (byte !== SPACE) lastNonSpaceByte = byte
  }
  return counts
}

function candidateQuotes(counts: ByteCounts, delimiter: number, { quote }: GivenGrammar): number[] {
  if (quote !== undefined) return [quote]
  const opening = (quotes: Uint32Array) => quotes[delimiter]! + quotes[LF]! + quotes[CR]!
  const candidates = [DOUBLE]
  if (opening(counts.singleQuoteAfter) > 0) candidates.push(SINGLE)
  if (opening(counts.doubleQuoteAfter) > 0) candidates.push(-1)
  return candidates
}

function candidateEscapes(counts: ByteCounts, delimiter: number, quote: number, { escape }: GivenGrammar): number[] {
  if (escape !== undefined) return [escape]
  const { backslashed } = counts
  const escapedCount = (quote < 0 ? 0 : backslashed[quote]!) + backslashed[delimiter]!
  return escapedCount > 0 ? [-1, BACKSLASH] : [-1]
}

function candidatePaddings(counts: ByteCounts, delimiter: number, { padded }: GivenGrammar): boolean[] {
  if (delimiter === SPACE) return [false]
  if (padded !== undefined) return [padded]
  return counts.padded[delimiter]! > 0 ? [false, true] : [false]
}

interface GrammarScore {
  /** The score, from 0 to 1. Comparable between grammars on the same sample. */
  total: number
  /** The number of fields that most records have. */
  width: number
}

/** Scores of a cell by its kind. In a correctly split sample, cells are numbers, dates and clean words. */
const cellWorth: Record<number, number> = {
  [NUMBER_CELL]: 1,
  [TIME_CELL]: 1,
  [TEXT_CELL]: 0.8,
  [INDENTED_CELL]: 0.6,
  [MISSPLIT_CELL]: 0.35,
}

/** Score factors for delimiters that also occur inside values. */
const delimiterTrust: Record<string, number> = { ':': 0.44, '^': 0.95, '~': 0.9, ' ': 0.5 }

/** The score factor for a single column. Its records always have the same number of fields, so this proves nothing. */
const singleColumn = 0.4
const wholeTimes = 0.9
const severalFields = 0.4
/** The maximum number of lines at the end that can be notes instead of rows. */
const maxNotes = 5
/**
 * Score factors for a grammar with which the file does not start with its table. Files usually do, so it must score
 * much higher otherwise.
 */
const lateStart = 0.45
const labelledStart = 0.75

/**
 * Scores how well a grammar fits the sample, and returns the usual number of fields as `width`. The score grows with
 * the share of records that have this number of fields, the share of well-formed cells and the number of columns. It is
 * lower if no table or labels are at the start, and for rarely used delimiters.
 */
function scoreGrammar(parsed: ParsedSample): GrammarScore {
  const { records, grammar } = parsed
  if (records.length === 0) return { total: 0, width: 1 }
  const usualFieldCount = usualWidth(records)
  const quality = cellQuality(records, usualFieldCount)
  if (usualFieldCount === 1) {
    const singleFieldRecords = records.filter(({ count }) => count === 1)
    const timeRecordCount = singleFieldRecords.filter(({ kinds }) => kinds[0] === TIME_CELL).length
    // Prefers a single column of times, because a colon inside a time does not delimit fields.
    const singleColumnScore = timeRecordCount > 0.9 * singleFieldRecords.length ? wholeTimes : singleColumn
    return { total: (singleColumnScore * quality * singleFieldRecords.length) / records.length, width: usualFieldCount }
  }
  const tableRecords = withoutTitles(records)
  const labelledParts = labelledTables(tableRecords)
  const isTableFirst = startsWithTable(records, usualFieldCount) || (labelledParts.count > 1 && records[0]!.count > 1)
  const isLabelled = startsWithLabels(tableRecords, usualFieldCount) || labelledParts.count > 1
  const startFactor = isTableFirst ? 1 : isLabelled ? labelledStart : lateStart
  const consistency = Math.max(
    widthConsistency(tableRecords, usualFieldCount),
    labelledParts.count > 1 ? labelledParts.share ** 2 : 0,
  )
  const total = consistency * quality * (usualFieldCount / (usualFieldCount + 0.5)) * startFactor
  return { total: total * (delimiterTrust[String.fromCharCode(grammar.delimiter)] ?? 1), width: usualFieldCount }
}

/**
 * Returns the share of records with `width` fields, from 0 to 1. Rows of different widths below a header with several
 * fields get a minimum score, because rejecting such rows is better than loading everything as one column.
 */
function widthConsistency(table: readonly SampleRecord[], width: number): number {
  const shareOfWidth = table.filter(({ count }) => count === width).length / table.length
  const shareOfSeveralFields = table.filter(({ count }) => count > 1).length / table.length
  return Math.max(shareOfWidth ** 2, table[0]!.count > 1 ? severalFields * shareOfSeveralFields : 0)
}

const fewestRecords = 3

/** Returns the number of tables with labels, if each has another number of fields, and their share of the records. */
function labelledTables(records: readonly SampleRecord[]): { count: number; share: number } {
  let count = 0
  let recordsInTables = 0
  for (let tableStart = 0, tableEnd = 0; tableStart < records.length; tableStart = tableEnd) {
    const width = records[tableStart]!.count
    while (tableEnd < records.length && records[tableEnd]!.count === width) tableEnd++
    if (
      width === 1 ||
      tableEnd - tableStart < fewestRecords ||
      !startsWithLabels(records.slice(tableStart, tableStart + 2), width)
    )
      continue
    count++
    recordsInTables += tableEnd - tableStart
  }
  return { count, share: recordsInTables / records.length }
}

/** Leaves out lines with one field above and below the table, because they may be titles and notes. */
function withoutTitles(records: readonly SampleRecord[]): readonly SampleRecord[] {
  const first = records.findIndex(({ count }) => count !== 1)
  const lastWideIndex = records.findLastIndex(({ count }) => count !== 1)
  return records.slice(first, Math.max(lastWideIndex + 1, records.length - maxNotes))
}

/**
 * Returns the most frequent number of fields per record. On a tie, returns the first one that is not 1. Ignores broken
 * records.
 */
export function usualWidth(records: readonly SampleRecord[]): number {
  const recordsByWidth = new Map<number, number>()
  for (const { count } of records) if (count > 0) recordsByWidth.set(count, (recordsByWidth.get(count) ?? 0) + 1)
  let width = 1
  let recordsOfWidth = 0
  for (const [candidate, frequency] of recordsByWidth) {
    if (frequency < recordsOfWidth || (frequency === recordsOfWidth && width > 1)) continue
    width = candidate
    recordsOfWidth = frequency
  }
  // If at most half of the records have one field, and no other width is as frequent, the first record decides, because
  // the file may have many notes or only rows of different widths.
  return recordsOfWidth * 2 <= records.length && width === 1 ? Math.max(1, records[0]!.count) : width
}

/**
 * True if the table starts at the first record. That record may have one field too few or too many, as a header without
 * a name for row numbers or with a trailing delimiter.
 */
function startsWithTable([first]: readonly SampleRecord[], width: number): boolean {
  return first !== undefined && (first.count === width || (first.count > 1 && Math.abs(first.count - width) === 1))
}

/**
 * True if the first record contains only text and the second one numbers or times. Below titles, this certainly is the
 * start of a table.
 */
function startsWithLabels([first, second]: readonly SampleRecord[], width: number): boolean {
  if (first?.count !== width || second?.count !== width) return false
  const isTyped = (kind: number) => kind === NUMBER_CELL || kind === TIME_CELL
  return first.kinds.every((kind) => kind === TEXT_CELL || kind === INDENTED_CELL) && second.kinds.some(isTyped)
}

/** Returns the average score of the cells in records with `width` fields. Empty cells do not count. */
function cellQuality(records: readonly SampleRecord[], width: number): number {
  let scoreSum = 0
  let cells = 0
  for (const { count, kinds } of records) {
    if (count !== width) continue
    for (const kind of kinds) {
      if (kind === EMPTY_CELL) continue
      scoreSum += cellWorth[kind]!
      cells++
    }
  }
  return cells === 0 ? cellWorth[TEXT_CELL]! : scoreSum / cells
}
