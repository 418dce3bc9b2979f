import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { type ColumnReference, columnOf } from './properties.ts'
import { rejectTerm } from './invalid-search.ts'

const maxWords = 20

/** Escapes a text for LIKE, in which the backslash is the escape character. */
export const escapeLike = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`)

export type TextPattern = (column: RawBuilder<unknown>, text: string) => RawBuilder<SqlBool>

/** Returns a LIKE or ILIKE condition with `%` or nothing before and after the text. */
export function createTextPattern(keyword: 'like' | 'ilike', before: '%' | '', after: '%' | ''): TextPattern {
  const operator = sql.raw(keyword)
  return (column, text) => {
    if (text === '') rejectTerm('needs a text to search for')
    return sql`${column} ${operator} ${before + escapeLike(text) + after}`
  }
}

/**
 * Matches a prefix, ignoring case. Equivalent to ILIKE, but uses the index on the lower-case column: 0.04 ms instead of
 * 4 ms among a million rows.
 */
export const startsWithText: TextPattern = (column, text) => {
  if (text === '') rejectTerm('needs a text to search for')
  return sql`lower(${column}) like lower(${`${escapeLike(text)}%`})`
}

/**
 * Returns a condition on the column with the lower-case text and a trigram index. It is true whenever the text occurs
 * in the property. pg_c_utf8 lower-cases each character separately, so a part of the text is also a part of its
 * lower-case form.
 */
export function occursInTrigrams(within: ColumnReference, text: string): RawBuilder<SqlBool> {
  const like = `%${escapeLike(text)}%`
  return isLike(within, trigramPattern(like) ?? like)
}

/**
 * Returns the condition that a line of the column matches the pattern, ignoring case. `like` is the pattern of
 * `RecordDefinition.matches`; the column has one text per line and a trigram index.
 */
export function matchesLineOf(within: ColumnReference, like: string): RawBuilder<SqlBool> {
  if (like.includes('\n')) return sql`false`
  const pieces = trigramPattern(like)
  if (pieces === undefined) return isLike(within, like)
  // In another collation, the index cannot evaluate the whole pattern, but the planner still uses it to estimate the
  // row count.
  const wholeLine = sql`(${columnOf(within)}) collate "C" like lower(${like} collate pg_c_utf8) collate "C"`
  return sql`(${isLike(within, pieces)} and ${wholeLine})`
}

const isLike = (within: ColumnReference, like: string): RawBuilder<SqlBool> =>
  sql`${columnOf(within)} like lower(${like} collate pg_c_utf8)`

/**
 * The minimum characters for a trigram condition. Shorter texts, such as first names, occur in many rows, so the index
 * does not help.
 */
const minTrigramLength = 8

/**
 * Returns a weaker pattern that splits every word into pieces of three characters, so that the index looks up only a
 * third of the trigrams. Overlapping trigrams cost time and filter little. Returns undefined for a text that is too
 * short.
 */
export function trigramPattern(like: string): string | undefined {
  if (like.replaceAll('%', '').length < minTrigramLength) return undefined
  const pieces = (like.match(/[\p{L}\p{N}]{3,}/gu) ?? []).flatMap(splitIntoThrees)
  return pieces.length > 1 ? `%${pieces.join('%')}%` : undefined
}

/**
 * Splits a word into pieces of three characters. The last piece contains the remainder and has three to five
 * characters.
 */
function splitIntoThrees(word: string): string[] {
  const characters = [...word]
  const pieceCount = Math.floor(characters.length / 3)
  return Array.from({ length: pieceCount }, (_, index) => {
    const isLast = index === pieceCount - 1
    return characters.slice(3 * index, isLast ? undefined : 3 * index + 3).join('')
  })
}

const containsText = createTextPattern('ilike', '%', '%')

/** Matches if every word of the text occurs, in any order, ignoring case. */
export const containsWords: TextPattern = (column, text) =>
  sql`(${sql.join(
    wordsOf(text).map((word) => containsText(column, word)),
    sql` and `,
  )})`

/** Negates a condition. The result is also true if the condition is null. */
export const isNotTrue = (condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> => sql`(${condition}) is not true`

/** Returns the distinct words of a text: sequences of characters, marks and digits in any script. */
export function wordsOf(text: string): string[] {
  const words = [...new Set(text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== ''))]
  if (words.length === 0) rejectTerm('needs at least one letter or digit to search for')
  if (words.length > maxWords) rejectTerm(`must not have more than ${maxWords} words`)
  return words
}
