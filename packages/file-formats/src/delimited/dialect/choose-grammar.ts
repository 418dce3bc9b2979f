import { type Grammar, plainGrammar } from '../grammar.ts'
import { listCandidateGrammars, type GivenGrammar, guessedDelimiters } from './candidate-grammars.ts'
import { EMPTY } from './cell-kind.ts'
import { type ParsedSample, parseSample } from './parse-sample.ts'
import { QUOTED } from '../record-scanner.ts'
import { scoreGrammar } from './score-grammar.ts'

export interface GrammarChoice {
  grammar: Grammar
  /** From 0 to 1: the lead over the second best delimiter, quote or escape. */
  confidence: { delimiter: number; quote: number; escape: number; padded: number }
}

/** Grammars are compared on this part of a sample. Only the chosen grammar reads the rest. */
const comparedBytes = 48 * 1024
const comparedRecords = { records: 400, cells: 8_000 }
/** With a smaller lead, the simpler grammar wins. */
const minimumLead = 1.02
/** In a padded file, at least this share of the fields after a delimiter begins with a space. */
const paddedShare = 0.9
const fewestFaults = 3

/** Returns the grammar that explains the beginning of a sample best. */
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

/** A lead of a third or more means confidence 1. */
function confidenceOf(lead: number): number {
  return Math.round(Math.min(1, 0.5 + 1.5 * lead) * 100) / 100
}

/**
 * Whether quotes are plain text: most fields that begin with a quote are broken. If only a few are broken, they are mistakes, and their
 * rows are rejected.
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
      // Both sides were trimmed, so a field that follows its delimiter directly had no padding.
      const gap = starts[i]! - ends[i - 1]! - (marks[i]! & QUOTED ? 1 : 0) - (marks[i - 1]! & QUOTED ? 1 : 0)
      if (gap > 1) padded++
    }
  }
  return grammar.delimiter !== 32 && fields > 0 && padded / fields >= paddedShare
}

/** Returns the delimiter that occurs in the fewest unquoted values, for a file of one column. */
function harmlessDelimiter(judged: Uint8Array, { quote, comment }: Grammar): number {
  const present = new Uint32Array(256)
  for (const byte of judged) present[byte]!++
  const none = guessedDelimiters.find(
    (delimiter) => present[delimiter] === 0 && delimiter !== quote && delimiter !== comment,
  )
  return none ?? plainGrammar(guessedDelimiters.toSorted((a, b) => present[a]! - present[b]!)[0]!).delimiter
}
