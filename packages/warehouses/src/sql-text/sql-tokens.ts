import { WarehouseProblem } from '../warehouse.ts'

/** A token of a SQL statement. Quoted text and comments are not tokenized further. */
export interface SqlToken {
  kind: 'word' | 'quoted' | 'parameter' | 'sign'
  /** The token's text without quotes. */
  text: string
  start: number
  end: number
}

/**
 * Matches one token. A line comment ends at the first character at which any server may end it, so the tokenizer never
 * skips text that a server may run.
 */
const tokenPattern =
  /(?<blank>\s+|--[^\n\r]*|#[ !][^\n\r]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^'\\]|\\[\s\S]|'')*'?|\$(?<tag>[A-Za-z_]*)\$[\s\S]*?(?:\$\k<tag>\$|$))|(?<quoted>"(?:[^"\\]|\\[\s\S]|"")*"?|`(?:[^`\\]|\\[\s\S]|``)*`?)|(?<parameter>\$\d+)|(?<word>[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*)|(?<sign>[\s\S])/uy

/** Returns the tokens of a statement, without string literals, which no caller needs. */
export function tokensOf(sql: string): SqlToken[] {
  const tokens: SqlToken[] = []
  const matcher = new RegExp(tokenPattern)
  for (let match = matcher.exec(sql); match && match[0] !== ''; match = matcher.exec(sql)) {
    const { quoted, parameter, word, sign } = match.groups!
    const [start, end] = [match.index, match.index + match[0].length]
    if (quoted !== undefined) tokens.push({ kind: 'quoted', text: unquoteIdentifier(quoted), start, end })
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter, start, end })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, start, end })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, start, end })
  }
  return tokens
}

/**
 * Removes the quotes of an identifier and resolves doubled quotes and backslash escapes. The end quote may be missing.
 */
const unquoteIdentifier = (text: string): string => {
  const quote = text[0]!
  const inner = text.slice(1, text.endsWith(quote) && text.length > 1 ? -1 : undefined)
  return inner.replaceAll(quote + quote, quote).replaceAll(/\\([\s\S])/g, '$1')
}

/**
 * Throws SQL_NOT_ALLOWED if a line comment contains a carriage return without a line feed. Some servers end the comment
 * there and others do not. So this tokenizer and the server could disagree about which of the following text is SQL.
 */
export function assertPlainComments(sql: string): void {
  // Both `--` and, in ClickHouse, `#` start a comment. A regular expression such as /--.*\r/ would scan from each dash
  // to the end of the line, which takes quadratic time for many dashes.
  const hasReturnInComment = (line: string) => {
    const textBeforeReturn = line.slice(0, Math.max(0, line.lastIndexOf('\r')))
    return /--|#/.test(textBeforeReturn)
  }
  const lines = sql.split(/\r?\n/)
  if (!lines.some(hasReturnInComment)) return
  throw new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    'A comment contains a carriage return without a line feed, which servers interpret differently. End the line of the comment with a line feed.',
  )
}

/**
 * Removes trailing white space and semicolons from SQL. Scans from the end, because a regular expression would take
 * quadratic time for many blanks.
 */
export function trimStatementEnd(sql: string): string {
  let end = sql.length
  while (end > 0 && /[\s;]/.test(sql[end - 1]!)) end -= 1
  return sql.slice(0, end)
}
