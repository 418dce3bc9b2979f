import { MISSPLIT_CELL, EMPTY_CELL, INDENTED_CELL, NUMBER_CELL, TEXT_CELL, TIME_CELL } from './cell-kind.ts'
import { type ParsedSample, parseSample, type SampleRecord } from './file-sample.ts'
import type { DelimitedGrammar } from './dialect.ts'
import { IS_QUOTED } from '../record-scanner.ts'

export interface GrammarChoice {
  grammar: DelimitedGrammar
  /**
   * The confidence in the chosen delimiter, quote and escape, from 0 to 1, based on their lead over the second best.
   */
  confidence: { delimiter: number; quote: number; escape: number; padded: number }
}

/**
 * The bytes at the start of a sample on which grammars are compared, and the maximum number of their records and cells.
 * Only the chosen grammar parses the rest.
 */
const comparedBytes = 48 * 1024
const comparedRecords = { records: 400, cells: 8_000 }
/** The factor by which a more complex grammar must score higher to be preferred to the simpler one. */
const minimumLead = 1.02
/** In a padded file, at least this share of the fields after a delimiter starts with a space. */
const minPaddedShare = 0.9
/** The `quote` of a grammar without quotes. */
const NO_QUOTE = -1
/** Fewer broken records do not prove that quotes are ordinary text. */
const minBrokenRecords = 3

interface GrammarCandidate extends GrammarScore {
  grammar: DelimitedGrammar
  parsed: ParsedSample
}

/**
 * Returns the grammar (delimiter, quote, escape, padding) that fits the sample from byte `from` on best. Properties in
 * `knownGrammar` are not detected. If the best grammar has a single column and its delimiter is not known, returns a
 * delimiter that splits no field.
 */
export function chooseGrammar(
  sample: Uint8Array,
  from: number,
  isComplete: boolean,
  knownGrammar: KnownGrammar,
): GrammarChoice {
  const comparedSample = sample.subarray(from, Math.min(sample.length, from + comparedBytes))
  const candidates = listCandidateGrammars(comparedSample, knownGrammar).map((grammar): GrammarCandidate => {
    const parsed = parseSample(sample, from, isComplete, grammar, comparedRecords, from + comparedBytes)
    return { grammar, ...scoreGrammar(parsed), parsed }
  })
  const plausibleCandidates = candidates.filter((candidate) => isPlausible(candidate, candidates, knownGrammar))
  const best = bestCandidate(plausibleCandidates)
  const confidence = confidenceInBest(best, plausibleCandidates)
  const needsDelimiter = best.width === 1 && knownGrammar.delimiter === undefined
  if (!needsDelimiter) return { grammar: best.grammar, confidence }
  const unusedDelimiter = harmlessDelimiter(comparedSample, best.grammar)
  return { grammar: { ...best.grammar, delimiter: unusedDelimiter }, confidence }
}

/**
 * False for a candidate with padding if the fields are not padded, and for a candidate without quotes if the quotes in
 * the sample are not ordinary text. What the options set is always plausible.
 */
function isPlausible(
  { grammar, parsed }: GrammarCandidate,
  candidates: readonly GrammarCandidate[],
  knownGrammar: KnownGrammar,
): boolean {
  const isPaddingPlausible = !grammar.padded || knownGrammar.padded === true || isPadded(parsed)
  if (!isPaddingPlausible) return false
  const hasQuote = grammar.quote !== NO_QUOTE
  if (hasQuote || knownGrammar.quote === NO_QUOTE) return true
  const parsedSamples = candidates.map((candidate) => candidate.parsed)
  return areQuotesOrdinaryText(parsedSamples, grammar.delimiter)
}

/**
 * Returns the confidence in the properties of the best grammar. For the delimiter and the quote, it is the lead of this
 * grammar over the best one with another delimiter or quote.
 */
function confidenceInBest(
  best: GrammarCandidate,
  candidates: readonly GrammarCandidate[],
): GrammarChoice['confidence'] {
  const { delimiter, quote } = best.grammar
  const withOtherDelimiter = candidates.filter(({ grammar }) => grammar.delimiter !== delimiter)
  const withOtherQuote = candidates.filter(({ grammar }) => grammar.delimiter === delimiter && grammar.quote !== quote)
  return {
    delimiter: confidenceOf(leadOver(withOtherDelimiter, best)),
    quote: confidenceOf(leadOver(withOtherQuote, best)),
    escape: 1,
    padded: 1,
  }
}

/** Returns the candidate with the highest score. A later, more complex candidate must lead by `minimumLead`. */
function bestCandidate(candidates: readonly GrammarCandidate[]): GrammarCandidate {
  let best = candidates[0]!
  for (const candidate of candidates) if (candidate.total > best.total * minimumLead) best = candidate
  return best
}

/** Returns by how much the score of the best candidate exceeds those of the alternatives, as a share from 0 to 1. */
function leadOver(alternatives: readonly GrammarCandidate[], best: GrammarCandidate): number {
  if (best.total === 0) return 0
  const bestAlternativeScore = Math.max(0, ...alternatives.map(({ total }) => total))
  return Math.max(0, Math.min(1, 1 - bestAlternativeScore / best.total))
}

/** Converts a lead over the second best grammar to a confidence of 0.5 to 1. A lead of a third or more gives 1. */
function confidenceOf(lead: number): number {
  return Math.round(Math.min(1, 0.5 + 1.5 * lead) * 100) / 100
}

/**
 * True if quotes are ordinary text, because most fields that start with a quote are broken when they are parsed as
 * quoted fields. If only a few are broken, these are mistakes, and their rows are rejected. Also true if no sample was
 * parsed with this delimiter and double quotes.
 */
function areQuotesOrdinaryText(parsedSamples: readonly ParsedSample[], delimiter: number): boolean {
  const parsedWithQuotes = parsedSamples.find(
    ({ grammar }) => grammar.quote === DOUBLE_QUOTE && grammar.delimiter === delimiter,
  )
  if (!parsedWithQuotes) return true
  let brokenRecordCount = 0
  let quotedFieldCount = 0
  for (const { count, fieldFlags } of parsedWithQuotes.records) {
    if (count === 0) brokenRecordCount++
    quotedFieldCount += fieldFlags.filter((flags) => flags & IS_QUOTED).length
  }
  return brokenRecordCount >= minBrokenRecords && brokenRecordCount > quotedFieldCount
}

/**
 * True if nearly all fields have a space next to the preceding delimiter. The first field of each record and empty
 * fields do not count.
 */
function isPadded({ records, grammar }: ParsedSample): boolean {
  let fieldCount = 0
  let paddedCount = 0
  for (const { kinds, fieldFlags, starts, ends } of records) {
    for (let i = 1; i < kinds.length; i++) {
      if (kinds[i] === EMPTY_CELL) continue
      fieldCount++
      // Fields were trimmed. Between two fields are a delimiter, the quotes of quoted fields, and the trimmed spaces.
      const closingQuoteBytes = fieldFlags[i - 1]! & IS_QUOTED ? 1 : 0
      const openingQuoteBytes = fieldFlags[i]! & IS_QUOTED ? 1 : 0
      const bytesBetween = starts[i]! - ends[i - 1]! - closingQuoteBytes - openingQuoteBytes
      if (bytesBetween > 1) paddedCount++
    }
  }
  return grammar.delimiter !== SPACE && fieldCount > 0 && paddedCount / fieldCount >= minPaddedShare
}

/**
 * Returns a delimiter for a file with a single column: a usual delimiter that does not occur in the sample, or else the
 * one that occurs least often.
 */
function harmlessDelimiter(comparedSample: Uint8Array, { quote, comment }: DelimitedGrammar): number {
  const byteCounts = new Uint32Array(256)
  for (const byte of comparedSample) byteCounts[byte]!++
  const absentDelimiter = usualDelimiters.find(
    (delimiter) => byteCounts[delimiter] === 0 && delimiter !== quote && delimiter !== comment,
  )
  return absentDelimiter ?? usualDelimiters.toSorted((a, b) => byteCounts[a]! - byteCounts[b]!)[0]!
}

const usualDelimiters = [',', ';', '\t', '|', ':', '^', '~', '\u001f'].map((character) => character.charCodeAt(0))

const LF = 10
const CR = 13
const SPACE = 32
const DOUBLE_QUOTE = 34
const SINGLE_QUOTE = 39
const BACKSLASH = 92

/** The properties of a grammar that are known, for example from options. The other properties are detected. */
type KnownGrammar = Partial<DelimitedGrammar>

/**
 * Lists the grammars to try on a sample, the simplest first. Includes the usual delimiters that occur and one that does
 * not. Includes single quotes only if one starts a field, and backslashes only if one precedes a quote or delimiter.
 */
function listCandidateGrammars(sample: Uint8Array, knownGrammar: KnownGrammar): DelimitedGrammar[] {
  const counts = countBytes(sample)
  const presentDelimiters = usualDelimiters.filter((delimiter) => counts.occurrences[delimiter]! > 0)
  // If no delimiter occurs, the file has a single column. So one delimiter that does not occur is tried too.
  const absentDelimiters = usualDelimiters.filter((delimiter) => counts.occurrences[delimiter] === 0).slice(0, 1)
  const delimiters =
    knownGrammar.delimiter === undefined ? [...presentDelimiters, ...absentDelimiters] : [knownGrammar.delimiter]
  const comment = knownGrammar.comment ?? -1
  return delimiters.flatMap((delimiter) =>
    candidateQuotes(counts, delimiter, knownGrammar).flatMap((quote) =>
      candidateEscapes(counts, delimiter, quote, knownGrammar).flatMap((escape) =>
        candidatePaddings(counts, delimiter, knownGrammar).map((isPaddedGrammar) => ({
          delimiter,
          quote,
          escape,
          padded: isPaddedGrammar,
          comment,
          readsStrayQuotes: knownGrammar.readsStrayQuotes ?? false,
        })),
      ),
    ),
  )
}

interface ByteCounts {
  /** `occurrences[b]` is the number of bytes `b`. */
  occurrences: Uint32Array
  /** `doubleQuotesAfterByte[b]` is the number of double quotes after a byte `b`, ignoring spaces between the two. */
  doubleQuotesAfterByte: Uint32Array
  singleQuotesAfterByte: Uint32Array
  /** `spacesAfterByte[b]` is the number of spaces directly after a byte `b`. */
  spacesAfterByte: Uint32Array
  /** `backslashesBeforeByte[b]` is the number of backslashes directly before a byte `b`. */
  backslashesBeforeByte: Uint32Array
}

/**
 * Counts the bytes of a sample. For each byte value, also counts the quotes and spaces that follow such a byte, and the
 * backslashes that precede it. The start of the sample counts as a line end.
 */
function countBytes(sample: Uint8Array): ByteCounts {
  const counts: ByteCounts = {
    occurrences: new Uint32Array(256),
    doubleQuotesAfterByte: new Uint32Array(256),
    singleQuotesAfterByte: new Uint32Array(256),
    spacesAfterByte: new Uint32Array(256),
    backslashesBeforeByte: new Uint32Array(256),
  }
  let previousByte = LF
  let lastNonSpaceByte = LF
  for (let position = 0; position < sample.length; position++) {
    const byte = sample[position]!
    counts.occurrences[byte]!++
    if (byte === DOUBLE_QUOTE) counts.doubleQuotesAfterByte[lastNonSpaceByte]!++
    else if (byte === SINGLE_QUOTE) counts.singleQuotesAfterByte[lastNonSpaceByte]!++
    else if (byte === SPACE) counts.spacesAfterByte[previousByte]!++
    if (previousByte === BACKSLASH) counts.backslashesBeforeByte[byte]!++
    previousByte = byte
    if (byte !== SPACE) lastNonSpaceByte = byte
  }
  return counts
}

/**
 * Returns the quotes to try: always double quotes, single quotes if one starts a field, and -1, which reads quotes as
 * ordinary text, if a double quote starts a field.
 */
function candidateQuotes(counts: ByteCounts, delimiter: number, { quote }: KnownGrammar): number[] {
  if (quote !== undefined) return [quote]
  const countAtFieldStart = (quotesAfterByte: Uint32Array) =>
    quotesAfterByte[delimiter]! + quotesAfterByte[LF]! + quotesAfterByte[CR]!
  const candidates = [DOUBLE_QUOTE]
  if (countAtFieldStart(counts.singleQuotesAfterByte) > 0) candidates.push(SINGLE_QUOTE)
  if (countAtFieldStart(counts.doubleQuotesAfterByte) > 0) candidates.push(-1)
  return candidates
}

/** Returns the escapes to try: none (-1), and the backslash if one precedes a quote or a delimiter. */
function candidateEscapes(counts: ByteCounts, delimiter: number, quote: number, { escape }: KnownGrammar): number[] {
  if (escape !== undefined) return [escape]
  const { backslashesBeforeByte } = counts
  const escapedQuotes = quote < 0 ? 0 : backslashesBeforeByte[quote]!
  return escapedQuotes + backslashesBeforeByte[delimiter]! > 0 ? [-1, BACKSLASH] : [-1]
}

/** Returns the values of `padded` to try: false, and true if a space follows a delimiter. */
function candidatePaddings(counts: ByteCounts, delimiter: number, { padded }: KnownGrammar): boolean[] {
  if (delimiter === SPACE) return [false]
  if (padded !== undefined) return [padded]
  return counts.spacesAfterByte[delimiter]! > 0 ? [false, true] : [false]
}

interface GrammarScore {
  /** The score, from 0 to 1. Comparable between grammars on the same sample. */
  total: number
  /** The number of fields that most records have. */
  width: number
}

/** Scores of a cell by its kind. In a correctly split sample, cells are numbers, dates and clean words. */
const cellScores: Record<number, number> = {
  [NUMBER_CELL]: 1,
  [TIME_CELL]: 1,
  [TEXT_CELL]: 0.8,
  [INDENTED_CELL]: 0.6,
  [MISSPLIT_CELL]: 0.35,
}

/** Score factors for delimiters that also occur inside values. */
const delimiterFactors: Record<string, number> = { ':': 0.44, '^': 0.95, '~': 0.9, ' ': 0.5 }

/** The score factor for a single column. Its records always have the same number of fields, so this proves nothing. */
const singleColumnFactor = 0.4
/**
 * The score factor for a single column of times. It is preferred, because a colon in a time does not delimit fields.
 */
const singleTimeColumnFactor = 0.9
/** The minimum consistency of records with several fields, however different their numbers of fields are. */
const minRaggedConsistency = 0.4
/** The maximum number of lines at the end that can be notes instead of rows. */
const maxNotes = 5
/**
 * Score factors for a grammar with which the file does not start with its table. Files usually do, so it must score
 * much higher otherwise.
 */
const lateStartFactor = 0.45
const labelledStartFactor = 0.75

/**
 * Returns a score for how well a grammar fits the sample that it parsed, and the most common number of fields as
 * `width`. The score is a product of factors from 0 to 1: the share of records that have this number of fields, the
 * quality of their cells, the number of columns, whether the sample starts with a table, and how rarely the delimiter
 * occurs inside values.
 */
function scoreGrammar(parsed: ParsedSample): GrammarScore {
  const { records, grammar } = parsed
  if (records.length === 0) return { total: 0, width: 1 }
  const width = mostCommonFieldCount(records)
  const quality = cellQuality(records, width)
  if (width === 1) return { total: singleColumnShare(records) * quality, width }
  const recordsBelowTitles = withoutTitles(records)
  const labelledTables = findLabelledTables(recordsBelowTitles)
  const hasSeveralTables = labelledTables.count > 1
  const shareInSeveralTables = hasSeveralTables ? labelledTables.shareOfRecords ** 2 : 0
  const consistency = Math.max(widthConsistency(recordsBelowTitles, width), shareInSeveralTables)
  const startsAtOnce = startsWithTable(records, width) || (hasSeveralTables && records[0]!.count > 1)
  const hasLabels = hasSeveralTables || startsWithLabels(recordsBelowTitles, width)
  const startFactor = startsAtOnce ? 1 : factorOfLateStart(hasLabels)
  const widthFactor = width / (width + 0.5)
  const delimiterFactor = delimiterFactors[String.fromCharCode(grammar.delimiter)] ?? 1
  return { total: consistency * quality * widthFactor * startFactor * delimiterFactor, width }
}

/** Titles above a table are less surprising if the table has labels. */
const factorOfLateStart = (hasLabels: boolean) => (hasLabels ? labelledStartFactor : lateStartFactor)

/** Returns the share of records with one field, lowered because a single column proves nothing about the grammar. */
function singleColumnShare(records: readonly SampleRecord[]): number {
  const singleFieldRecords = records.filter(({ count }) => count === 1)
  const timeCount = singleFieldRecords.filter(({ kinds }) => kinds[0] === TIME_CELL).length
  const areTimes = timeCount > 0.9 * singleFieldRecords.length
  const factor = areTimes ? singleTimeColumnFactor : singleColumnFactor
  return (factor * singleFieldRecords.length) / records.length
}

/**
 * Returns the square of the share of records with `width` fields, from 0 to 1. Records of different widths below a
 * header with several fields get a minimum, because rejecting such rows is better than loading everything as one
 * column.
 */
function widthConsistency(table: readonly SampleRecord[], width: number): number {
  const shareOfWidth = table.filter(({ count }) => count === width).length / table.length
  const shareOfSeveralFields = table.filter(({ count }) => count > 1).length / table.length
  const minimum = table[0]!.count > 1 ? minRaggedConsistency * shareOfSeveralFields : 0
  return Math.max(shareOfWidth ** 2, minimum)
}

const minRecordsPerTable = 3

/**
 * Divides the records into runs of records with the same number of fields. Counts the runs that are tables with labels,
 * and returns their share of all records.
 */
function findLabelledTables(records: readonly SampleRecord[]): { count: number; shareOfRecords: number } {
  let count = 0
  let recordsInTables = 0
  for (let tableStart = 0, tableEnd = 0; tableStart < records.length; tableStart = tableEnd) {
    const width = records[tableStart]!.count
    while (tableEnd < records.length && records[tableEnd]!.count === width) tableEnd++
    const isLongEnough = tableEnd - tableStart >= minRecordsPerTable
    const hasLabels = startsWithLabels(records.slice(tableStart, tableStart + 2), width)
    if (width === 1 || !isLongEnough || !hasLabels) continue
    count++
    recordsInTables += tableEnd - tableStart
  }
  return { count, shareOfRecords: recordsInTables / records.length }
}

/**
 * Leaves out the records with one field above the table, because they may be titles. Also leaves out those below it, at
 * most `maxNotes`, because they may be notes.
 */
function withoutTitles(records: readonly SampleRecord[]): readonly SampleRecord[] {
  const firstWideIndex = records.findIndex(({ count }) => count !== 1)
  const lastWideIndex = records.findLastIndex(({ count }) => count !== 1)
  return records.slice(firstWideIndex, Math.max(lastWideIndex + 1, records.length - maxNotes))
}

/**
 * Returns the most frequent number of fields per record. If it is 1, but most records have several fields, returns the
 * first record's number: those records may be rows of different widths, and the others notes.
 */
export function mostCommonFieldCount(records: readonly SampleRecord[]): number {
  const recordsByWidth = countRecordsByWidth(records)
  const width = mostFrequentWidth(recordsByWidth)
  const hasMajority = (recordsByWidth.get(width) ?? 0) * 2 > records.length
  if (width > 1 || hasMajority) return width
  return Math.max(1, records[0]!.count)
}

/** Returns the number of records with each number of fields, without the broken records. */
function countRecordsByWidth(records: readonly SampleRecord[]): Map<number, number> {
  const recordsByWidth = new Map<number, number>()
  for (const { count } of records) {
    if (count > 0) recordsByWidth.set(count, (recordsByWidth.get(count) ?? 0) + 1)
  }
  return recordsByWidth
}

/** Returns the number of fields that the most records have. On a tie, returns the first number that is not 1. */
function mostFrequentWidth(recordsByWidth: ReadonlyMap<number, number>): number {
  let width = 1
  let recordsOfWidth = 0
  for (const [candidate, recordCount] of recordsByWidth) {
    const isTie = recordCount === recordsOfWidth
    const isBetter = recordCount > recordsOfWidth || (isTie && width === 1)
    if (!isBetter) continue
    width = candidate
    recordsOfWidth = recordCount
  }
  return width
}

/**
 * True if the table starts at the first record. That record may have one field too few or too many, as a header without
 * a name for row numbers or with a trailing delimiter.
 */
function startsWithTable([first]: readonly SampleRecord[], width: number): boolean {
  if (first === undefined) return false
  return first.count === width || (first.count > 1 && Math.abs(first.count - width) === 1)
}

/**
 * True if the first two records have `width` fields, the first one contains only text, and the second one a number or
 * time. Below titles, this certainly is the start of a table.
 */
function startsWithLabels([first, second]: readonly SampleRecord[], width: number): boolean {
  if (first?.count !== width || second?.count !== width) return false
  const isTyped = (kind: number) => kind === NUMBER_CELL || kind === TIME_CELL
  return first.kinds.every((kind) => kind === TEXT_CELL || kind === INDENTED_CELL) && second.kinds.some(isTyped)
}

/**
 * Returns the average score of the cells in records with `width` fields. Empty cells do not count. Returns the score of
 * a text without other cells.
 */
function cellQuality(records: readonly SampleRecord[], width: number): number {
  let scoreSum = 0
  let cells = 0
  for (const { count, kinds } of records) {
    if (count !== width) continue
    for (const kind of kinds) {
      if (kind === EMPTY_CELL) continue
      scoreSum += cellScores[kind]!
      cells++
    }
  }
  return cells === 0 ? cellScores[TEXT_CELL]! : scoreSum / cells
}
