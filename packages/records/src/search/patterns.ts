import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { type ColumnReference, columnOf } from './properties.ts'
import { rejectTerm } from './violations.ts'

const maxWords = 20

/** The text as LIKE takes it literally. The backslash is LIKE's own escape character. */
export const escaped = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`)

export type TextPattern = (column: RawBuilder<unknown>, text: string) => RawBuilder<SqlBool>

/** LIKE or ILIKE with what may stand before and after the text: `%` or nothing. */
export function pattern(keyword: 'like' | 'ilike', before: '%' | '', after: '%' | ''): TextPattern {
  const operator = sql.raw(keyword)
  return (column, text) => {
    if (text === '') rejectTerm('needs some text to look for')
    return sql`${column} ${operator} ${before + escaped(text) + after}`
  }
}

/**
 * Begins with the text, in any case: what ILIKE means, said so that an index on the lowered column, such as lists have for
 * their order, is walked from the text's first place to its last. 0.04 ms instead of 4 among a million.
 */
export const startsWithText: TextPattern = (column, text) => {
  if (text === '') rejectTerm('needs some text to look for')
  return sql`lower(${column}) like lower(${`${escaped(text)}%`})`
}

/**
 * Where the text is kept once more in lower case with an index of trigrams: what holds there whenever the text occurs in the
 * property. Letter by letter, as pg_c_utf8 lowers, so that a piece of the text is a piece of it in lower case, too.
 */
export function occursInTrigrams(within: ColumnReference, text: string): RawBuilder<SqlBool> {
  const like = `%${escaped(text)}%`
  return isLike(within, trigramPattern(like) ?? like)
}

/**
 * The same for a pattern that `RecordKind.matches` is given, where each line of the column is a text of its own: none of them
 * has a line break in it.
 */
export function matchesLineOf(within: ColumnReference, like: string): RawBuilder<SqlBool> {
  if (like.includes('\n')) return sql`false`
  const pieces = trigramPattern(like)
  if (pieces === undefined) return isLike(within, like)
  // In another collation than the index has, the whole is no question for the index, and still tells how few rows there are.
  const whole = sql`(${columnOf(within)}) collate "C" like lower(${like} collate pg_c_utf8) collate "C"`
  return sql`(${isLike(within, pieces)} and ${whole})`
}

const isLike = (within: ColumnReference, like: string): RawBuilder<SqlBool> =>
  sql`${columnOf(within)} like lower(${like} collate pg_c_utf8)`

/** Characters of a text that is worth it. What many rows have in common, such as a first name, is mostly shorter. */
const minTrigramLength = 8

/**
 * A pattern that holds wherever the given one does and asks an index of trigrams for a third of them: every word in pieces of
 * three letters. An index reads each trigram's list for each row that the rarest of them has, and trigrams that overlap tell
 * little more than those that do not. Undefined for a text that is too short to gain by it.
 */
export function trigramPattern(like: string): string | undefined {
  if (like.replaceAll('%', '').length < minTrigramLength) return undefined
  const pieces = (like.match(/[\p{L}\p{N}]{3,}/gu) ?? []).flatMap(splitIntoThrees)
  return pieces.length > 1 ? `%${pieces.join('%')}%` : undefined
}

/** The last one has what is left besides: three letters to five. */
function splitIntoThrees(word: string): string[] {
  const letters = [...word]
  const count = Math.floor(letters.length / 3)
  return Array.from({ length: count }, (_, at) =>
    letters.slice(3 * at, at === count - 1 ? undefined : 3 * at + 3).join(''),
  )
}

const contains = pattern('ilike', '%', '%')

/** Every word of the text occurs, in any order, in any case. */
export const containsWords: TextPattern = (column, text) =>
  sql`(${sql.join(
    wordsOf(text).map((word) => contains(column, word)),
    sql` and `,
  )})`

/** What is not the case, or cannot be told because there is no value. */
export const not = (condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> => sql`(${condition}) is not true`

/** The different words of a text: runs of letters, marks and digits of any script. */
export function wordsOf(text: string): string[] {
  const words = [...new Set(text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== ''))]
  if (words.length === 0) rejectTerm('needs at least one letter or digit to look for')
  if (words.length > maxWords) rejectTerm(`must not look for more than ${maxWords} words`)
  return words
}
