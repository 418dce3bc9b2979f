import type { SqlLanguage } from '../../sql-text/resolve-table-names.ts'
import type { SqlToken } from '../../sql-text/sql-tokens.ts'

/**
 * Matches one token. A comment ends at the first character at which any server may end it, so the tokenizer never skips
 * text that a server may run.
 */
const tokenPattern =
  /(?<blank>\s+|--[^\n\r]*)|(?<comment>\/\*)|(?<string>N?'(?:[^']|'')*'?)|(?<quoted>"(?:[^"]|"")*"?|\[(?:[^\]]|\]\])*\]?)|(?<parameter>\$\d+)|(?<word>[\p{L}_@#][\p{L}\p{N}_@#$]*|\d[\w.]*)|(?<sign>[\s\S])/uy

/**
 * Returns the tokens of T-SQL: names in brackets or double quotes, strings without escape sequences, nested comments.
 */
export function tsqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = []
  const matcher = new RegExp(tokenPattern)
  for (let match = matcher.exec(sql); match && match[0] !== ''; match = matcher.exec(sql)) {
    const { comment, quoted, parameter, word, sign } = match.groups!
    const start = match.index
    const end = start + match[0].length
    if (comment !== undefined) matcher.lastIndex = findCommentEnd(sql, end)
    else if (quoted !== undefined) tokens.push({ kind: 'quoted', text: unquoteIdentifier(quoted), start, end })
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter, start, end })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, start, end })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, start, end })
  }
  return tokens
}

/** Returns the position after a comment, which can contain nested comments. */
function findCommentEnd(sql: string, from: number): number {
  const commentMark = /\/\*|\*\//g
  commentMark.lastIndex = from
  let depth = 1
  while (depth > 0) {
    const match = commentMark.exec(sql)
    if (!match) return sql.length
    depth += match[0] === '/*' ? 1 : -1
  }
  return commentMark.lastIndex
}

/**
 * Removes the quotes or brackets of an identifier and resolves doubled closing quotes. The end quote may be missing.
 */
function unquoteIdentifier(text: string): string {
  const closingQuote = text.startsWith('[') ? ']' : text[0]!
  const isClosed = text.endsWith(closingQuote) && text.length > 1
  const inner = text.slice(1, isClosed ? -1 : undefined)
  return inner.replaceAll(closingQuote + closingQuote, closingQuote)
}

/** T-SQL's syntax with its keywords that precede table names. */
export const tsqlLanguage: SqlLanguage = {
  tokensOf: tsqlTokens,
  tableKeywords: new Set(['from', 'join', 'apply', 'into', 'update', 'delete', 'merge', 'using', 'table']),
}
