import type { DataType } from '@sluice/contracts'
import { SourceProblem } from '@sluice/row-stream'

export const delimiterCharacters = { COMMA: ',', SEMI_COLON: ';', TAB: '\t', PIPE: '|' } as const
export type DelimiterName = keyof typeof delimiterCharacters

export const dateFormats = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'YYYYMMDD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'DD-MM-YYYY',
  'MM/DD/YYYY',
  'MM-DD-YYYY',
] as const
export type DateFormat = (typeof dateFormats)[number]

/** The options of one column. `label` or `index` (from 0) identifies it. */
export interface ColumnOptions {
  index?: number
  label?: string
  name?: string
  dataType?: DataType
  precision?: number
  scale?: number
  dateFormat?: DateFormat
  /** True if the type was declared by the source. False if a user selected it. */
  declared?: boolean
  /** True if the source has checked that JSONB can store every value. */
  hasValidJson?: boolean
}

/** Options that replace detection. OPTIONS.md describes them. */
export interface DelimitedOptions {
  /** The delimiter: a name, or one ASCII character. */
  delimiter?: string
  quote?: 'DOUBLE' | 'SINGLE' | 'NONE'
  escape?: 'DOUBLED' | 'BACKSLASH'
  strayQuotes?: 'REJECT' | 'TEXT'
  comment?: string
  headerRow?: boolean
  headerLines?: number
  skipLines?: number
  trailingDelimiters?: number
  trimSpaces?: boolean
  footerLines?: number
  nullValues?: readonly string[]
  decimal?: 'POINT' | 'COMMA'
  columns?: readonly ColumnOptions[]
  /** The dialect of the files that were loaded into this table before. */
  previousDialect?: PreviousDialect
}

/** Properties that earlier files of a table have determined. They take precedence over detection in a new file. */
export interface PreviousDialect {
  /** The delimiter and quote to try first. If they find none of `labels`, others are detected. */
  delimiter?: string
  quote?: 'DOUBLE' | 'SINGLE' | 'NONE'
  escape?: 'DOUBLED' | 'BACKSLASH'
  headerRow?: boolean
  /** The decimal sign. Set once a value has proved it. */
  decimal?: 'POINT' | 'COMMA'
  labels: readonly string[]
  /** For columns with dates or times, by label: true if days come before months. */
  dayFirst: Readonly<Record<string, boolean>>
  /** The labels of columns with numbers. */
  numbers: readonly string[]
  /** The format in which all values of a column are printed, by label. */
  sourceFormats?: Readonly<Record<string, string>>
  /** True if the rows of earlier files stay in the table. */
  keepsRows?: boolean
}

/**
 * True if a text is one character that can separate fields or start comments: ASCII, and no letter, digit, underscore,
 * quote, backslash, point, sign or line end.
 */
const isSeparator = (text: string) => {
  const code = text.charCodeAt(0)
  return text.length === 1 && code > 0 && code < 127 && !/[\w"'\\.+\-\r\n]/.test(text)
}

/**
 * Returns the byte of a delimiter, which is given by name or as a character. Throws SourceProblem OPTIONS_NOT_USABLE.
 */
export function delimiterByte(delimiter: string): number {
  const character = delimiterCharacters[delimiter as DelimiterName] ?? delimiter
  if (isSeparator(character)) return character.charCodeAt(0)
  throw optionsProblem(
    `${JSON.stringify(delimiter)} cannot be a delimiter; give one punctuation character, or COMMA, SEMI_COLON, TAB or PIPE`,
  )
}

/**
 * Throws SourceProblem OPTIONS_NOT_USABLE, with a sentence for users, if an option is invalid by itself or two options
 * contradict each other.
 */
export function assertUsableOptions(options: DelimitedOptions): void {
  const { delimiter, comment, headerRow, headerLines, columns = [] } = options
  const delimiterCode = delimiter === undefined ? undefined : delimiterByte(delimiter)
  if (comment !== undefined && !isSeparator(comment)) {
    throw optionsProblem(`${JSON.stringify(comment)} cannot begin comments; give one punctuation character, such as #`)
  }
  if (comment !== undefined && comment.charCodeAt(0) === delimiterCode) {
    throw optionsProblem('The delimiter and the character that begins comments have to be different')
  }
  if (headerRow === false && headerLines !== undefined) {
    throw optionsProblem('A file without a header row has no header lines; leave one of the two out')
  }
  for (const { index, label } of columns) {
    if (index === undefined && label === undefined)
      throw optionsProblem('Each of the columns needs a label or an index')
  }
}

export function optionsProblem(reason: string): SourceProblem {
  return new SourceProblem('OPTIONS_NOT_USABLE', `${reason}.`)
}
