import type { GrammarChoice } from './choose-grammar.ts'
import { type DelimitedOptions, type DelimiterName, delimiterCharacters } from './delimited-options.ts'
import type { DetectedOptions, DetectedValue } from './dialect.ts'
import type { DetectedTable } from './find-table.ts'
import type { DetectedFooter } from './footer.ts'
import type { ParsedSample } from './file-sample.ts'

const LF = 10
const CR = 13
const DOUBLE_QUOTE = 34
const SINGLE_QUOTE = 39

interface DetectionResult {
  choice: GrammarChoice
  table: DetectedTable
  footer: DetectedFooter
  /** The byte of the decimal sign. */
  decimal: number
  sample: Uint8Array
  /** Texts that probably mean null. */
  suggested: string[]
  /** The byte of the delimiter from the file's `sep=` line. */
  directive: number | undefined
}

/**
 * Returns the detected values under the names of the corresponding options, each with a confidence from 0 to 1. Unusual
 * values, such as a footer or a decimal comma, have a fixed confidence below 1.
 */
export function describeDetection(
  detection: DetectionResult,
  { records }: ParsedSample,
  options: DelimitedOptions,
): DetectedOptions {
  const { choice, table, footer, directive } = detection
  const { grammar, confidence } = choice
  const lineEndStyle = detectLineEnds(detection.sample)
  const hasHeaderRow = table.headerLines > 0
  const skipLines = records[table.start]!.line - 1
  const isDecimalComma = String.fromCharCode(detection.decimal) === ','
  return {
    delimiter: detectedValue(delimiterName(grammar.delimiter), options.delimiter ?? directive, confidence.delimiter),
    quote: detectedValue(quoteName(grammar.quote), options.quote, confidence.quote),
    escape: detectedValue(grammar.escape < 0 ? 'DOUBLED' : 'BACKSLASH', options.escape, grammar.escape < 0 ? 1 : 0.9),
    recordEnds: detectedValue(lineEndStyle, undefined, lineEndStyle === 'MIXED' ? 0.8 : 1),
    skipLines: detectedValue(skipLines, options.skipLines, table.confidence.start),
    headerRow: detectedValue(hasHeaderRow, options.headerRow, table.confidence.header),
    headerLines: detectedValue(
      table.headerLines,
      options.headerLines,
      table.headerLines > 1 ? 0.7 : table.confidence.header,
    ),
    trailingDelimiters: detectedValue(table.trailing, options.trailingDelimiters, table.trailing > 0 ? 0.9 : 1),
    trimSpaces: detectedValue(grammar.padded, options.trimSpaces, grammar.padded ? 0.9 : 1),
    footerLines: detectedValue(footer.lines, options.footerLines, footer.lines > 0 ? 0.8 : 1),
    decimal: detectedValue(isDecimalComma ? 'COMMA' : 'POINT', options.decimal, isDecimalComma ? 0.9 : 1),
    nullValues: {
      ...detectedValue([...(options.nullValues ?? [])], options.nullValues, 1),
      suggested: detection.suggested,
    },
  }
}

/** Returns a value with its confidence. A value that an option sets is certain. */
function detectedValue<Value>(value: Value, option: unknown, confidence: number): DetectedValue<Value> {
  const isSetByOption = option !== undefined
  return { value, given: isSetByOption, confidence: isSetByOption ? 1 : confidence }
}

/** Returns the option value for the byte of a quote, or for -1. */
function quoteName(quote: number): 'DOUBLE' | 'SINGLE' | 'NONE' {
  if (quote === DOUBLE_QUOTE) return 'DOUBLE'
  return quote === SINGLE_QUOTE ? 'SINGLE' : 'NONE'
}

/** Returns the option value for the byte of a delimiter: its name, or the character itself if it has none. */
function delimiterName(delimiter: number): string {
  const character = String.fromCharCode(delimiter)
  const names = Object.keys(delimiterCharacters) as DelimiterName[]
  return names.find((name) => delimiterCharacters[name] === character) ?? character
}

/**
 * Returns the line end that a text uses, MIXED if it uses several, or NONE. Line ends inside quotes count too, because
 * the same program wrote them.
 */
function detectLineEnds(sample: Uint8Array): DetectedOptions['recordEnds']['value'] {
  let lfCount = 0
  let crlfCount = 0
  let crCount = 0
  for (let position = 0; position < sample.length; position++) {
    if (sample[position] === LF) lfCount++
    else if (sample[position] === CR) {
      if (sample[position + 1] === LF) {
        crlfCount++
        position++
      } else crCount++
    }
  }
  const usedLineEnds = [lfCount, crlfCount, crCount].filter((count) => count > 0).length
  if (usedLineEnds > 1) return 'MIXED'
  if (lfCount > 0) return 'LF'
  if (crlfCount > 0) return 'CRLF'
  return crCount > 0 ? 'CR' : 'NONE'
}

/** The words for delimiters in descriptions, by option value. */
const delimiterWords: Record<string, string> = {
  COMMA: '“,”',
  SEMI_COLON: '“;”',
  TAB: 'tab',
  PIPE: '“|”',
  ' ': 'space',
  '\u001f': 'U+001F',
}
const quoteWords = { DOUBLE: '“"”', SINGLE: "“'”", NONE: 'none' } as const

/** Returns a number with its noun, as in `1 line` and `2 lines`. */
const formatCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/**
 * Describes the dialect as a part of a sentence: `delimiter “;”, header in line 4, 3 lines above it skipped`. Does not
 * mention other properties with their default values.
 */
export function describeGuesses(guesses: DetectedOptions): string {
  const { delimiter, quote, escape, skipLines, headerRow, headerLines, footerLines, decimal, trimSpaces } = guesses
  const skippedText = formatCount(skipLines.value, 'line')
  return [
    `delimiter ${delimiterWords[delimiter.value] ?? `“${delimiter.value}”`}`,
    quote.value === 'DOUBLE' ? '' : `quote ${quoteWords[quote.value]}`,
    escape.value === 'BACKSLASH' ? 'quotes escaped by backslashes' : '',
    trimSpaces.value ? 'spaces around fields left out' : '',
    headerRow.value ? describeHeader(skipLines.value + 1, headerLines.value) : 'no header row',
    skipLines.value === 0 ? '' : `${skippedText} above it skipped`,
    footerLines.value === 0 ? '' : `${formatCount(footerLines.value, 'line')} at the end skipped`,
    decimal.value === 'COMMA' ? 'decimal comma' : '',
  ]
    .filter((phrase) => phrase !== '')
    .join(', ')
}

function describeHeader(firstLine: number, lineCount: number): string {
  return lineCount === 1 ? `header in line ${firstLine}` : `header of ${lineCount} lines from line ${firstLine} on`
}

/**
 * Returns a sentence about a column of numbers such as 1.234 in a file that does not show whether points are decimal
 * points.
 */
export const describeAmbiguousPoints = (label: string): string =>
  `Column "${label}" is TEXT because the points in its numbers may be decimal points or separate thousands. If they are decimal points, set decimal to POINT.`

/** Returns further findings for the log, as complete sentences. */
export function detectionNotes(guesses: DetectedOptions, footer: DetectedFooter, table: DetectedTable): string[] {
  const { trailingDelimiters, footerLines, nullValues } = guesses
  const trailingText = formatCount(trailingDelimiters.value, 'delimiter')
  const suggestedNulls = nullValues.suggested.filter((text) => !nullValues.value.includes(text))
  return [
    table.isRepaired ? 'The quotes of the header are broken; its labels were read without them.' : '',
    table.unnamed === 0
      ? ''
      : `The header has more labels than the rows have values. It is read without ${formatCount(table.unnamed, 'empty label')}.`,
    table.repeatedHeader
      ? `The header occurs again between the rows, first in line ${table.repeatedHeader.line}. These lines are left out.`
      : '',
    trailingDelimiters.value === 0
      ? ''
      : `Every row ends with ${trailingText} after the last column; they are left out.`,
    footerLines.value === 0 || footer.text === '' ? '' : `Skipped at the end: ${footer.text}`,
    footer.doubt === undefined
      ? ''
      : `The last row may be a total: ${footer.doubt}. It is loaded as a row. To skip it, set footerLines.`,
    suggestedNulls.length === 0
      ? ''
      : `Kept as text: ${suggestedNulls.join(', ')}. To load ${suggestedNulls.length === 1 ? 'this value' : 'these values'} as null, use the option nullValues.`,
  ].filter((note) => note !== '')
}
