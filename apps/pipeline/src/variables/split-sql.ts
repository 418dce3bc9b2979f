/**
 * A piece of SQL text. `word` is a name, keyword or number. `variable` is a `${name}` outside literals, quoted names
 * and comments.
 */
export interface SqlPiece {
  kind: 'code' | 'word' | 'variable' | 'parameter' | 'literal' | 'quoted name' | 'comment'
  text: string
}

const spacePattern = /\s+/y
const lineComment = /--[^\n\r]*/y
const wordPattern = /[A-Za-z0-9_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y
const variablePattern = /\$\{[^{}\n]*\}/y
const parameterPattern = /\$\d+/y
const dollarQuote = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
const plainLiteral = /'(?:[^']|'')*('|$)/y
const escapedLiteral = /'(?:[^'\\]|''|\\[\s\S])*(?:'|\\?$)/y
const quotedName = /"(?:[^"]|"")*("|$)/y
/** Matches the text between two parts of a literal that continues on another line. Runs in linear time. */
const stringContinuationPattern = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:\s|--[^\n\r]*[\n\r])*(?=')/y

/**
 * Splits SQL into pieces by the rules of PostgreSQL. The pieces together are the original text. Never fails: an
 * unclosed piece extends to the end of the text, and PostgreSQL reports the error.
 */
export function* splitSql(sql: string): Generator<SqlPiece> {
  for (let position = 0; position < sql.length; ) {
    const piece = readPieceAt(sql, position)
    yield piece
    position += piece.text.length
  }
}

/** Returns the piece of SQL that begins at `position`. */
function readPieceAt(sql: string, position: number): SqlPiece {
  const matchHere = (pattern: RegExp) => {
    pattern.lastIndex = position
    return pattern.exec(sql)?.[0]
  }
  const piece = (kind: SqlPiece['kind'], text: string): SqlPiece => ({ kind, text })

  const character = sql[position]!
  if (character === "'") return piece('literal', readLiteral(sql, position, plainLiteral))
  if (character === '"') return piece('quoted name', matchHere(quotedName)!)
  if (sql.startsWith('--', position)) return piece('comment', matchHere(lineComment)!)
  if (sql.startsWith('/*', position)) return piece('comment', sql.slice(position, findBlockCommentEnd(sql, position)))
  if (character === '$') {
    const variable = matchHere(variablePattern)
    if (variable) return piece('variable', variable)
    const tag = matchHere(dollarQuote)
    if (tag) return piece('literal', sql.slice(position, findDollarQuoteEnd(sql, position, tag)))
    const parameter = matchHere(parameterPattern)
    return parameter ? piece('parameter', parameter) : piece('code', character)
  }
  if ((character === 'E' || character === 'e') && sql[position + 1] === "'")
    return piece('literal', character + readLiteral(sql, position + 1, escapedLiteral))
  const name = matchHere(wordPattern)
  if (name) return piece('word', endBeforeVariable(sql, position, name))
  return piece('code', matchHere(spacePattern) ?? character)
}

/**
 * Returns the part of a name before a variable. In `a${b}`, PostgreSQL would take the dollar sign as part of the name.
 */
function endBeforeVariable(sql: string, position: number, name: string): string {
  return name.endsWith('$') && sql[position + name.length] === '{' ? name.slice(0, -1) : name
}

/** Returns the literal at `position`, with its continuations on further lines. */
function readLiteral(sql: string, position: number, pattern: RegExp): string {
  let end = position
  for (;;) {
    pattern.lastIndex = end
    end += pattern.exec(sql)![0].length
    stringContinuationPattern.lastIndex = end
    const continuation = stringContinuationPattern.exec(sql)
    if (!continuation) return sql.slice(position, end)
    end += continuation[0].length
  }
}

/** Returns the end of a block comment. In PostgreSQL, block comments nest. */
function findBlockCommentEnd(sql: string, position: number): number {
  const commentMark = /\/\*|\*\//g
  commentMark.lastIndex = position
  let depth = 0
  for (;;) {
    const mark = commentMark.exec(sql)
    if (!mark) return sql.length
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return commentMark.lastIndex
  }
}

function findDollarQuoteEnd(sql: string, position: number, tag: string): number {
  const end = sql.indexOf(tag, position + tag.length)
  return end < 0 ? sql.length : end + tag.length
}
