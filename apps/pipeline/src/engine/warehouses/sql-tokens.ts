import { WarehouseProblem } from './warehouse.ts'

/** A piece of a statement that means something: what is between quotes and in comments is not looked into. */
export interface SqlToken {
  kind: 'word' | 'quoted' | 'parameter' | 'sign'
  /** Without quotes. */
  text: string
  start: number
  end: number
}

/** A comment to the end of its line ends where any server may end it: what one of them may run is not skipped. */
const piece =
  /(?<blank>\s+|--[^\n\r]*|#[ !][^\n\r]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^'\\]|\\[\s\S]|'')*'?|\$(?<tag>[A-Za-z_]*)\$[\s\S]*?(?:\$\k<tag>\$|$))|(?<quoted>"(?:[^"\\]|\\[\s\S]|"")*"?|`(?:[^`\\]|\\[\s\S]|``)*`?)|(?<parameter>\$\d+)|(?<word>[\p{L}_][\p{L}\p{N}_]*|\d[\w.]*)|(?<sign>[\s\S])/uy

/** Strings are left out: nobody here asks for them. */
export function tokensOf(sql: string): SqlToken[] {
  const tokens: SqlToken[] = []
  const matcher = new RegExp(piece)
  for (let match = matcher.exec(sql); match && match[0] !== ''; match = matcher.exec(sql)) {
    const { quoted, parameter, word, sign } = match.groups!
    const [start, end] = [match.index, match.index + match[0].length]
    if (quoted !== undefined) tokens.push({ kind: 'quoted', text: unquoted(quoted), start, end })
    else if (parameter !== undefined) tokens.push({ kind: 'parameter', text: parameter, start, end })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, start, end })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, start, end })
  }
  return tokens
}

const unquoted = (text: string): string => {
  const quote = text[0]!
  const inner = text.slice(1, text.endsWith(quote) && text.length > 1 ? -1 : undefined)
  return inner.replaceAll(quote + quote, quote).replaceAll(/\\([\s\S])/g, '$1')
}

/**
 * Throws SQL_NOT_ALLOWED for a comment with a carriage return that no line feed follows. To some servers the comment ends there and to others it
 * does not, so what stands behind may be a string to us and a statement to them, or the other way round.
 */
export function assertPlainComments(sql: string): void {
  // By lines: an expression would try each of very many dashes to the end of its line.
  const endsOddly = (line: string) =>
    line
      .split('\r')
      .slice(0, -1)
      .some((before) => /--|#/.test(before))
  if (!sql.split(/\r?\n/).some(endsOddly)) return
  throw new WarehouseProblem(
    'SQL_NOT_ALLOWED',
    'A comment ends with a carriage return alone, which servers read in different ways. End its line with a line feed.',
  )
}
