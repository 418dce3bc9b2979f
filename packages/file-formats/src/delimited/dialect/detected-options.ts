import type { GrammarChoice } from './choose-grammar.ts'
import type { DetectedValue, DetectedOptions } from './dialect.ts'
import type { DetectedFooter } from './footer.ts'
import { type DelimiterName, type DelimitedOptions, delimiters } from './delimited-options.ts'
import type { ParsedSample } from './parse-sample.ts'
import type { DetectedTable } from './find-table.ts'

interface DetectionResult {
  choice: GrammarChoice
  table: DetectedTable
  footer: DetectedFooter
  decimal: number
  sample: Uint8Array
  suggested: string[]
  directive: number | undefined
}

/** Returns the detected values under the names of the options. */
export function describeDetection(
  found: DetectionResult,
  { records }: ParsedSample,
  options: DelimitedOptions,
): DetectedOptions {
  const { choice, table, footer, directive } = found
  const { grammar, confidence } = choice
  const ends = recordEnds(found.sample)
  const headerRow = table.headerLines > 0
  const skipLines = records[table.start]!.line - 1
  return {
    delimiter: detectedValue(delimiterName(grammar.delimiter), options.delimiter ?? directive, confidence.delimiter),
    quote: detectedValue(
      grammar.quote === 34 ? 'DOUBLE' : grammar.quote === 39 ? 'SINGLE' : 'NONE',
      options.quote,
      confidence.quote,
    ),
    escape: detectedValue(grammar.escape < 0 ? 'DOUBLED' : 'BACKSLASH', options.escape, grammar.escape < 0 ? 1 : 0.9),
    recordEnds: detectedValue(ends, undefined, ends === 'MIXED' ? 0.8 : 1),
    skipLines: detectedValue(skipLines, options.skipLines, table.confidence.start),
    headerRow: detectedValue(headerRow, options.headerRow, table.confidence.header),
    headerLines: detectedValue(
      table.headerLines,
      options.headerLines,
      table.headerLines > 1 ? 0.7 : table.confidence.header,
    ),
    trailingDelimiters: detectedValue(table.trailing, options.trailingDelimiters, table.trailing > 0 ? 0.9 : 1),
    trimSpaces: detectedValue(grammar.padded, options.trimSpaces, grammar.padded ? 0.9 : 1),
    footerLines: detectedValue(footer.lines, options.footerLines, footer.lines > 0 ? 0.8 : 1),
    decimal: detectedValue(found.decimal === 44 ? 'COMMA' : 'POINT', options.decimal, found.decimal === 44 ? 0.9 : 1),
    nullValues: {
      ...detectedValue([...(options.nullValues ?? [])], options.nullValues, 1),
      suggested: found.suggested,
    },
  }
}

function detectedValue<Value>(value: Value, given: unknown, confidence: number): DetectedValue<Value> {
  return { value, given: given !== undefined, confidence: given === undefined ? confidence : 1 }
}

/** Returns the name of a delimiter in the options, or the character. */
export function delimiterName(delimiter: number): string {
  const character = String.fromCharCode(delimiter)
  return Object.keys(delimiters).find((name) => delimiters[name as DelimiterName] === character) ?? character
}

/** Returns the line ends of a text. Line ends in quotes count too, because the same program wrote them. */
function recordEnds(sample: Uint8Array): DetectedOptions['recordEnds']['value'] {
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
