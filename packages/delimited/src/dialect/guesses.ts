import type { Choice } from './choose.ts'
import type { Guess, Guesses } from './dialect.ts'
import type { Footer } from './footer.ts'
import { type Delimiter, type DelimitedOptions, delimiters } from './options.ts'
import type { ParsedSample } from './parse.ts'
import type { Table } from './table.ts'

interface Found {
  choice: Choice
  table: Table
  footer: Footer
  decimal: number
  sample: Uint8Array
  suggested: string[]
  directive: number | undefined
}

/** What was found, in the words of the options. */
export function guessesOf(found: Found, { records }: ParsedSample, options: DelimitedOptions): Guesses {
  const { choice, table, footer, directive } = found
  const { grammar, confidence } = choice
  const ends = recordEnds(found.sample)
  const headerRow = table.headerLines > 0
  const skipLines = records[table.start]!.line - 1
  return {
    delimiter: guess(delimiterName(grammar.delimiter), options.delimiter ?? directive, confidence.delimiter),
    quote: guess(
      grammar.quote === 34 ? 'DOUBLE' : grammar.quote === 39 ? 'SINGLE' : 'NONE',
      options.quote,
      confidence.quote,
    ),
    escape: guess(grammar.escape < 0 ? 'DOUBLED' : 'BACKSLASH', options.escape, grammar.escape < 0 ? 1 : 0.9),
    recordEnds: guess(ends, undefined, ends === 'MIXED' ? 0.8 : 1),
    skipLines: guess(skipLines, options.skipLines, table.confidence.start),
    headerRow: guess(headerRow, options.headerRow, table.confidence.header),
    headerLines: guess(table.headerLines, options.headerLines, table.headerLines > 1 ? 0.7 : table.confidence.header),
    trailingDelimiters: guess(table.trailing, options.trailingDelimiters, table.trailing > 0 ? 0.9 : 1),
    trimSpaces: guess(grammar.padded, options.trimSpaces, grammar.padded ? 0.9 : 1),
    footerLines: guess(footer.lines, options.footerLines, footer.lines > 0 ? 0.8 : 1),
    decimal: guess(found.decimal === 44 ? 'COMMA' : 'POINT', options.decimal, found.decimal === 44 ? 0.9 : 1),
    nullValues: { ...guess([...(options.nullValues ?? [])], options.nullValues, 1), suggested: found.suggested },
  }
}

function guess<Value>(value: Value, given: unknown, confidence: number): Guess<Value> {
  return { value, given: given !== undefined, confidence: given === undefined ? confidence : 1 }
}

/** The delimiter as the options call it: a name, or the character itself. */
export function delimiterName(delimiter: number): string {
  const character = String.fromCharCode(delimiter)
  return Object.keys(delimiters).find((name) => delimiters[name as Delimiter] === character) ?? character
}

/** By which line ends a text is divided, those inside of quotes included, since they are written by the same program. */
function recordEnds(sample: Uint8Array): Guesses['recordEnds']['value'] {
  let lf = 0
  let crlf = 0
  let cr = 0
  for (let at = 0; at < sample.length; at++) {
    if (sample[at] === 10) lf++
    else if (sample[at] === 13) {
      if (sample[at + 1] === 10) {
        crlf++
        at++
      } else cr++
    }
  }
  const kinds = [lf, crlf, cr].filter((count) => count > 0).length
  if (kinds > 1) return 'MIXED'
  return lf > 0 ? 'LF' : crlf > 0 ? 'CRLF' : cr > 0 ? 'CR' : 'NONE'
}
