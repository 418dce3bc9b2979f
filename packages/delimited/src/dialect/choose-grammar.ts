import { type Grammar, plainGrammar } from '../grammar.ts'
import { listCandidateGrammars, type GivenGrammar, guessedDelimiters } from './candidate-grammars.ts'
import { EMPTY } from './cell-kind.ts'
import { type ParsedSample, parseSample } from './parse-sample.ts'
import { QUOTED } from '../record-scanner.ts'
import { scoreGrammar } from './score-grammar.ts'

export interface GrammarChoice {
  grammar: Grammar
  /** 0–1: how far the next best delimiter, quote or escape is behind. */
  confidence: { delimiter: number; quote: number; escape: number; padded: number }
}

/** So much of a sample decides between grammars; the rest of it is only read under the one chosen. */
const comparedBytes = 48 * 1024
const comparedRecords = { records: 400, cells: 8_000 }
/** Differences below this are none: the plainer grammar wins. */
const minimumLead = 1.02
/** Share of the fields behind a delimiter that begin with a space in a file that is padded. */
const paddedShare = 0.9
const fewestFaults = 3

/** The grammar that explains the beginning of a sample best. */
export function chooseGrammar(sample: Uint8Array, from: number, complete: boolean, given: GivenGrammar): GrammarChoice {
  const judged = sample.subarray(from, Math.min(sample.length, from + comparedBytes))
  const tried = listCandidateGrammars(judged, given).map((grammar) => {
    const parsed = parseSample(sample, from, complete, grammar, comparedRecords, from + comparedBytes)
    return { grammar, ...scoreGrammar(parsed), parsed }
  })
  const possible = tried.filter(
    ({ grammar, parsed }) =>
      (!grammar.padded || given.padded === true || isPadded(parsed)) &&
      (grammar.quote >= 0 ||
        given.quote === -1 ||
        areQuotesText(
          tried.map((other) => other.parsed),
          grammar,
        )),
  )
  const best = possible.reduce((one, other) => (other.total > one.total * minimumLead ? other : one))
  const against = (differs: (grammar: Grammar) => boolean) => {
    const rival = Math.max(0, ...possible.filter((other) => differs(other.grammar)).map(({ total }) => total))
    return best.total === 0 ? 0 : Math.max(0, Math.min(1, 1 - rival / best.total))
  }
  const confidence = {
    delimiter: confidenceOf(against(({ delimiter }) => delimiter !== best.grammar.delimiter)),
    quote: confidenceOf(
      against(({ quote, delimiter }) => quote !== best.grammar.quote && delimiter === best.grammar.delimiter),
    ),
    escape: 1,
    padded: 1,
  }
  if (best.width > 1 || given.delimiter !== undefined) return { grammar: best.grammar, confidence }
  return { grammar: { ...best.grammar, delimiter: harmlessDelimiter(judged, best.grammar) }, confidence }
}

/** A lead of a third and more is as sure as it gets. */
function confidenceOf(lead: number): number {
  return Math.round(Math.min(1, 0.5 + 1.5 * lead) * 100) / 100
}

/**
 * Quotes are text where fields that begin with one are broken more often than not. A few broken ones among many are
 * mistakes: those rows are rejected, and the others keep their meaning.
 */
function areQuotesText(tried: readonly ParsedSample[], { delimiter }: Grammar): boolean {
  const usual = tried.find(({ grammar }) => grammar.quote === 34 && grammar.delimiter === delimiter)
  if (!usual) return true
  const faults = usual.records.filter(({ count }) => count === 0).length
  const quoted = usual.records.reduce((sum, { marks }) => sum + marks.filter((mark) => mark & QUOTED).length, 0)
  return faults >= fewestFaults && faults > quoted
}

function isPadded({ records, grammar }: ParsedSample): boolean {
  let fields = 0
  let padded = 0
  for (const { kinds, marks, starts, ends } of records) {
    for (let i = 1; i < kinds.length; i++) {
      if (kinds[i] === EMPTY) continue
      fields++
      // Both sides were trimmed, so a field that stands right behind its delimiter was not padded.
      const gap = starts[i]! - ends[i - 1]! - (marks[i]! & QUOTED ? 1 : 0) - (marks[i - 1]! & QUOTED ? 1 : 0)
      if (gap > 1) padded++
    }
  }
  return grammar.delimiter !== 32 && fields > 0 && padded / fields >= paddedShare
}

/** In a file of one column: the delimiter that stands in fewest values outside of quotes. */
function harmlessDelimiter(judged: Uint8Array, { quote, comment }: Grammar): number {
  const present = new Uint32Array(256)
  for (const byte of judged) present[byte]!++
  const none = guessedDelimiters.find(
    (delimiter) => present[delimiter] === 0 && delimiter !== quote && delimiter !== comment,
  )
  return none ?? plainGrammar(guessedDelimiters.toSorted((a, b) => present[a]! - present[b]!)[0]!).delimiter
}
