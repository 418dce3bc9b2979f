import type { DetectedOptions } from './dialect.ts'
import type { DetectedFooter } from './footer.ts'

const shownDelimiters: Record<string, string> = {
  COMMA: '“,”',
  SEMI_COLON: '“;”',
  TAB: 'tab',
  PIPE: '“|”',
  ' ': 'space',
  '\u001f': 'U+001F',
}
const quoteNames = { DOUBLE: '“"”', SINGLE: "“'”", NONE: 'none' } as const

const times = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`

/** The dialect as part of a sentence: `delimiter “;”, header in line 4, 3 lines above it skipped`. Defaults are not mentioned. */
export function describeGuesses(guesses: DetectedOptions): string {
  const { delimiter, quote, escape, skipLines, headerRow, headerLines, footerLines, decimal, trimSpaces } = guesses
  const skipped = times(skipLines.value, 'line')
  return [
    `delimiter ${shownDelimiters[delimiter.value] ?? `“${delimiter.value}”`}`,
    quote.value === 'DOUBLE' ? '' : `quote ${quoteNames[quote.value]}`,
    escape.value === 'BACKSLASH' ? 'quotes escaped by backslashes' : '',
    trimSpaces.value ? 'spaces around fields left out' : '',
    headerRow.value ? headerWords(skipLines.value + 1, headerLines.value) : 'no header row',
    skipLines.value === 0 ? '' : `${skipped} above it skipped`,
    footerLines.value === 0 ? '' : `${times(footerLines.value, 'line')} at the end skipped`,
    decimal.value === 'COMMA' ? 'decimal comma' : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function headerWords(line: number, lines: number): string {
  return lines === 1 ? `header in line ${line}` : `header of ${lines} lines from line ${line} on`
}

/** Returns other findings for the log, as whole sentences. */
export function detectionNotes(guesses: DetectedOptions, footer: DetectedFooter, isMended: boolean): string[] {
  const { trailingDelimiters, footerLines, nullValues } = guesses
  const trailing = times(trailingDelimiters.value, 'delimiter')
  const suggested = nullValues.suggested.filter((spelling) => !nullValues.value.includes(spelling))
  return [
    isMended ? 'The quotes of the header are broken; its labels were read without them.' : '',
    trailingDelimiters.value === 0 ? '' : `Every row ends with ${trailing} behind the last column; they are left out.`,
    footerLines.value === 0 || footer.text === '' ? '' : `Skipped at the end: ${footer.text}`,
    footer.doubt === undefined
      ? ''
      : `The last row may be a total: ${footer.doubt}. It is kept as a row unless the options say that it is one of the lines at the end.`,
    suggested.length === 0
      ? ''
      : `Kept as text: ${suggested.join(', ')}. To load ${suggested.length === 1 ? 'this value' : 'these values'} as null, use the option nullValues.`,
  ].filter((note) => note !== '')
}
