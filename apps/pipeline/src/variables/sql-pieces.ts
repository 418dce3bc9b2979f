/** A piece of SQL text as PostgreSQL reads it. `word`: a name, keyword or number. `variable`: `${name}` outside of all other pieces. */
export interface Piece {
  kind: 'code' | 'word' | 'variable' | 'parameter' | 'literal' | 'quoted name' | 'comment'
  text: string
}

const space = /\s+/y
const lineComment = /--[^\n\r]*/y
const word = /[A-Za-z0-9_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const variable = /\$\{[^{}\n]*\}/y
const parameter = /\$\d+/y
const dollarQuote = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
const plainLiteral = /'(?:[^']|'')*('|$)/y
const escapedLiteral = /'(?:[^'\\]|''|\\[\s\S])*(?:'|\\?$)/y
const quotedName = /"(?:[^"]|"")*("|$)/y
/** A literal continues after a line end, with the same syntax. Each character matches in one way only, so the time is linear. */
const continued = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:\s|--[^\n\r]*[\n\r])*(?=')/y

/**
 * Splits SQL into pieces. Joined, the pieces are the text again. It never fails: an unclosed piece extends to the end, and
 * PostgreSQL reports the error.
 */
export function* sqlPieces(sql: string): Generator<Piece> {
  for (let at = 0; at < sql.length; ) {
    const piece = pieceAt(sql, at)
    yield piece
    at += piece.text.length
  }
}

function pieceAt(sql: string, at: number): Piece {
  const taken = (pattern: RegExp) => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  const piece = (kind: Piece['kind'], text: string): Piece => ({ kind, text })

  const one = sql[at]!
  if (one === "'") return piece('literal', literal(sql, at, plainLiteral))
  if (one === '"') return piece('quoted name', taken(quotedName)!)
  if (sql.startsWith('--', at)) return piece('comment', taken(lineComment)!)
  if (sql.startsWith('/*', at)) return piece('comment', sql.slice(at, blockCommentEnd(sql, at)))
  if (one === '$') {
    const found = taken(variable)
    if (found) return piece('variable', found)
    const tag = taken(dollarQuote)
    if (tag) return piece('literal', sql.slice(at, dollarQuoteEnd(sql, at, tag)))
    return piece(taken(parameter) ? 'parameter' : 'code', taken(parameter) ?? one)
  }
  if ((one === 'E' || one === 'e') && sql[at + 1] === "'")
    return piece('literal', one + literal(sql, at + 1, escapedLiteral))
  const name = taken(word)
  if (name) return piece('word', untilVariable(sql, at, name))
  return piece('code', taken(space) ?? one)
}

/** PostgreSQL would take the dollar sign of `a${b}` for a part of the name. */
function untilVariable(sql: string, at: number, name: string): string {
  return name.endsWith('$') && sql[at + name.length] === '{' ? name.slice(0, -1) : name
}

function literal(sql: string, at: number, pattern: RegExp): string {
  let end = at
  for (;;) {
    pattern.lastIndex = end
    end += pattern.exec(sql)![0].length
    continued.lastIndex = end
    const more = continued.exec(sql)
    if (!more) return sql.slice(at, end)
    end += more[0].length
  }
}

/** PostgreSQL's comments nest. */
function blockCommentEnd(sql: string, at: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = at
  for (let depth = 0; ; ) {
    const mark = marks.exec(sql)
    if (!mark) return sql.length
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
}

function dollarQuoteEnd(sql: string, at: number, tag: string): number {
  const end = sql.indexOf(tag, at + tag.length)
  return end < 0 ? sql.length : end + tag.length
}
