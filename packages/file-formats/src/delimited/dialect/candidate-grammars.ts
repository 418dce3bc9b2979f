import type { Grammar } from '../grammar.ts'

export const guessedDelimiters = [',', ';', '\t', '|', ':', '^', '~', '\u001f'].map((c) => c.charCodeAt(0))

const LF = 10
const CR = 13
const SPACE = 32
const DOUBLE = 34
const SINGLE = 39
const BACKSLASH = 92

/** The known parts of a grammar. The others are detected. */
export type GivenGrammar = Partial<Grammar>

/**
 * Lists the grammars to try on a sample, the simplest first: only delimiters that occur, single quotes only if one begins a field, and
 * backslashes only if one precedes a quote or a delimiter.
 */
export function listCandidateGrammars(sample: Uint8Array, given: GivenGrammar): Grammar[] {
  const seen = countBytes(sample)
  const present = guessedDelimiters.filter((delimiter) => seen.bytes[delimiter]! > 0)
  // A delimiter that does not occur means a file of one column.
  const absent = guessedDelimiters.filter((delimiter) => (seen.bytes[delimiter] ?? 0) === 0).slice(0, 1)
  const delimiters = given.delimiter === undefined ? [...present, ...absent] : [given.delimiter]
  const comment = given.comment ?? -1
  return delimiters.flatMap((delimiter) =>
    candidateQuotes(seen, delimiter, given).flatMap((quote) =>
      candidateEscapes(seen, delimiter, quote, given).flatMap((escape) =>
        candidatePaddings(seen, delimiter, given).map((padded) => ({
          delimiter,
          quote,
          escape,
          padded,
          comment,
        })),
      ),
    ),
  )
}

interface ByteCounts {
  bytes: Uint32Array
  /** How often a quote follows each byte, with or without spaces in between. Quotes after line ends count for every delimiter. */
  doubleBehind: Uint32Array
  singleBehind: Uint32Array
  /** How often a space follows each byte. */
  padded: Uint32Array
  /** How often a backslash precedes each byte. */
  backslashed: Uint32Array
}

function countBytes(sample: Uint8Array): ByteCounts {
  const seen: ByteCounts = {
    bytes: new Uint32Array(256),
    doubleBehind: new Uint32Array(256),
    singleBehind: new Uint32Array(256),
    padded: new Uint32Array(256),
    backslashed: new Uint32Array(256),
  }
  let before = LF
  let solid = LF
  for (let at = 0; at < sample.length; at++) {
    const byte = sample[at]!
    seen.bytes[byte]!++
    if (byte === DOUBLE) seen.doubleBehind[solid]!++
    else if (byte === SINGLE) seen.singleBehind[solid]!++
    else if (byte === SPACE) seen.padded[before]!++
    if (before === BACKSLASH) seen.backslashed[byte]!++
    before = byte
    if (byte !== SPACE) solid = byte
  }
  return seen
}

function candidateQuotes(seen: ByteCounts, delimiter: number, { quote }: GivenGrammar): number[] {
  if (quote !== undefined) return [quote]
  const opening = (behind: Uint32Array) => behind[delimiter]! + behind[LF]! + behind[CR]!
  const found = [DOUBLE]
  if (opening(seen.singleBehind) > 0) found.push(SINGLE)
  if (opening(seen.doubleBehind) > 0) found.push(-1)
  return found
}

function candidateEscapes(seen: ByteCounts, delimiter: number, quote: number, { escape }: GivenGrammar): number[] {
  if (escape !== undefined) return [escape]
  const { backslashed } = seen
  const telling = (quote < 0 ? 0 : backslashed[quote]!) + backslashed[delimiter]!
  return telling > 0 ? [-1, BACKSLASH] : [-1]
}

function candidatePaddings(seen: ByteCounts, delimiter: number, { padded }: GivenGrammar): boolean[] {
  if (delimiter === SPACE) return [false]
  if (padded !== undefined) return [padded]
  return seen.padded[delimiter]! > 0 ? [false, true] : [false]
}
