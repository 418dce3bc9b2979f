import type { DelimitedGrammar } from '../../src/delimited/dialect/dialect.ts'
import { pick, type Random } from './random-files.ts'
import type { ReferenceGrammar } from './reference-records.ts'

const quotes = { DOUBLE: 34, SINGLE: 39, NONE: -1 } as const

/** A grammar of the reference reader as the fast one wants it. */
export function grammarOf({
  delimiter,
  quote = 'DOUBLE',
  escape,
  comment,
  trimSpaces = false,
}: ReferenceGrammar): DelimitedGrammar {
  return {
    delimiter: delimiter.charCodeAt(0),
    quote: quotes[quote],
    escape: escape === 'BACKSLASH' ? 92 : -1,
    padded: trimSpaces,
    comment: comment === undefined ? -1 : comment.charCodeAt(0),
    readsStrayQuotes: false,
  }
}

/** Mostly as files are; now and then with any quote, escape and comment there is. */
export function grammarAtRandom(random: Random): ReferenceGrammar {
  if (random() < 0.6) return { delimiter: pick(random, [',', ';', '\t', '|']) }
  const delimiter = pick(random, [',', ';', '\t', '|', ':', ' ', '#', '\u001f'])
  const comment = random() < 0.2 ? pick(random, ['#', '%', 'a', ' ']) : delimiter
  return {
    delimiter,
    quote: pick(random, ['DOUBLE', 'DOUBLE', 'SINGLE', 'NONE']),
    escape: pick(random, ['DOUBLED', 'BACKSLASH']),
    trimSpaces: delimiter !== ' ' && random() < 0.3,
    ...(comment !== delimiter && { comment }),
  }
}
