import type { DataType } from '@sluice/contracts'
import { DelimitedProblem } from '../problem.ts'

export const delimiters = { COMMA: ',', SEMI_COLON: ';', TAB: '\t', PIPE: '|' } as const
export type DelimiterName = keyof typeof delimiters

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

/** What is said about one column; it is found by its label or by its place, from 0. */
export interface ColumnOptions {
  index?: number
  label?: string
  name?: string
  dataType?: DataType
  precision?: number
  scale?: number
  dateFormat?: DateFormat
  /** The source declares the type; no user asked for it. */
  declared?: boolean
}

/** What can be said about a file instead of having it guessed: OPTIONS.md. */
export interface DelimitedOptions {
  /** By name, or one ASCII character. */
  delimiter?: string
  quote?: 'DOUBLE' | 'SINGLE' | 'NONE'
  escape?: 'DOUBLED' | 'BACKSLASH'
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
  /** The dialect of this table's last file. */
  remembered?: RememberedDialect
}

/** The decisions of earlier files of a table. They take precedence over guesses from a new file. */
export interface RememberedDialect {
  /** The first guess. Another one is made where the labels that it finds have none of `labels`. */
  delimiter?: string
  quote?: 'DOUBLE' | 'SINGLE' | 'NONE'
  escape?: 'DOUBLED' | 'BACKSLASH'
  headerRow?: boolean
  /** Once a value has decided. */
  decimal?: 'POINT' | 'COMMA'
  labels: readonly string[]
  /** Labels of columns whose values are days or times, and whether days come before months in them. */
  dayFirst: Readonly<Record<string, boolean>>
  /** Labels of columns whose values are numbers. */
  numbers: readonly string[]
}

/** ASCII that can stand between fields: nothing that values, quotes, escapes or line ends are made of. */
const isSeparator = (text: string) => {
  const code = text.charCodeAt(0)
  return text.length === 1 && code > 0 && code < 127 && !/[\w"'\\.+\-\r\n]/.test(text)
}

/** The character that a delimiter's name or character means. Throws DelimitedProblem OPTIONS_NOT_USABLE. */
export function delimiterByte(delimiter: string): number {
  const character = delimiters[delimiter as DelimiterName] ?? delimiter
  if (isSeparator(character)) return character.charCodeAt(0)
  throw optionsProblem(
    `${JSON.stringify(delimiter)} cannot be a delimiter; give one punctuation character, or COMMA, SEMI_COLON, TAB or PIPE`,
  )
}

/** Throws DelimitedProblem OPTIONS_NOT_USABLE with a sentence when two options contradict each other. */
export function assertUsableOptions(options: DelimitedOptions): void {
  const { delimiter, comment, headerRow, headerLines, columns = [] } = options
  const separator = delimiter === undefined ? undefined : delimiterByte(delimiter)
  if (comment !== undefined && !isSeparator(comment)) {
    throw optionsProblem(`${JSON.stringify(comment)} cannot begin comments; give one punctuation character, say #`)
  }
  if (comment !== undefined && comment.charCodeAt(0) === separator) {
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

export function optionsProblem(why: string): DelimitedProblem {
  return new DelimitedProblem('OPTIONS_NOT_USABLE', `${why}.`)
}
