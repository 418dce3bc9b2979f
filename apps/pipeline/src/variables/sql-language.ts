import { type Piece, sqlPieces } from './sql-pieces.ts'
import { warehouseTypes } from '@sluice/contracts/systems'

/** The SQL syntax of a server: a source database, or a warehouse that runs transformations. */
export type SqlLanguage = 'postgres' | 'redshift' | 'mysql' | 'sql-server' | 'oracle' | 'clickhouse'

interface Rules {
  /** Splits SQL into pieces. Joined, the pieces are the text again. */
  pieces(sql: string): Iterable<Piece>
  /** Returns a text as a literal that the server reads as exactly this text, whatever its settings are. */
  text(value: string): string
  identifier(name: string): string
}

const doubled = (text: string): string => text.replaceAll("'", "''")

/** The prefix `E` makes the meaning of backslashes independent of `standard_conforming_strings`. */
const postgresText = (value: string): string =>
  value.includes('\\') ? `E'${doubled(value).replaceAll('\\', '\\\\')}'` : `'${doubled(value)}'`

/** Redshift reads backslashes as escapes, PostgreSQL does not. Character codes have the same meaning in both. */
function redshiftText(value: string): string {
  if (!value.includes('\\')) return `'${doubled(value)}'`
  return `(${value
    .split('\\')
    .map((part) => `'${doubled(part)}'`)
    .join(' || chr(92) || ')})`
}

/**
 * Hexadecimal digits have the same meaning whether or not backslashes escape. Dates and times stay plain, because
 * `date '2026-01-01'` accepts no other literal.
 */
const mysqlText = (value: string): string =>
  /^\d+([-:. T]\d+)*Z?$/.test(value) ? `'${value}'` : `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`

/** Escapes line breaks too, so that a value cannot end a comment that this tokenizer does not recognise. */
const clickhouseText = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`

const inDoubleQuotes = (name: string): string => `"${name}"`

const rules: Readonly<Record<SqlLanguage, Rules>> = {
  postgres: { pieces: sqlPieces, text: postgresText, identifier: inDoubleQuotes },
  redshift: {
    pieces: splitter({
      backslashes: true,
      dollarQuotes: /^\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$$/,
      nested: true,
      word: /[A-Za-z0-9_\u0080-\uffff](?:[A-Za-z0-9_#@\u0080-\uffff]|\$(?!\{))*/y,
    }),
    text: redshiftText,
    identifier: inDoubleQuotes,
  },
  mysql: {
    pieces: splitter({
      backslashes: true,
      backticks: true,
      doubleQuotedTexts: true,
      lineComment: /(?:--(?=\s|$)|#)[^\n]*/y,
      word: /[A-Za-z0-9_\u0080-\uffff]+/y,
    }),
    text: mysqlText,
    identifier: (name) => `\`${name}\``,
  },
  'sql-server': {
    pieces: splitter({ brackets: true, nested: true }),
    text: (value) => `N'${doubled(value)}'`,
    identifier: (name) => `[${name}]`,
  },
  oracle: {
    pieces: splitter({ otherQuotes: true }),
    text: (value) => `'${doubled(value)}'`,
    identifier: inDoubleQuotes,
  },
  clickhouse: {
    pieces: splitter({
      backslashes: true,
      backslashesInNames: true,
      backticks: true,
      curlyQuotes: true,
      // Tags consist of word characters; older servers accept any character.
      dollarQuotes: /^\$\w*\$$/,
      // `#` before a space starts a comment, and values are inserted with spaces around them.
      lineComment: /(?:--|\/\/|#(?=[ !]|\$\{))[^\n]*/y,
      nested: true,
      // Non-ASCII characters are quotes, spaces or errors. Names may contain dollar signs, numbers may not.
      word: /[A-Za-z_](?:\w|\$(?!\{))*|\d\w*/y,
    }),
    text: clickhouseText,
    identifier: inDoubleQuotes,
  },
}

export const rulesOf = (language: SqlLanguage): Rules => rules[language]

/** Returns the literals of a text for all servers, with and without quotes, because error messages quote parts of a query. */
export const literalsOf = (value: string): string[] =>
  Object.values(rules).flatMap(({ text }) => [text(value), text(value).replace(/^[EN]?'([^]*)'$/, '$1')])

interface Manner {
  /** Whether a backslash escapes the next character in a literal. */
  backslashes?: boolean
  backslashesInNames?: boolean
  /** Whether backticks, and brackets, quote names. */
  backticks?: boolean
  brackets?: boolean
  /** Whether double quotes contain texts rather than names. */
  doubleQuotedTexts?: boolean
  /** ‘texts’ and “names”, which have no escapes. */
  curlyQuotes?: boolean
  /** Pattern of line comments; `--` by default. */
  lineComment?: RegExp
  /** Whether comments nest. */
  nested?: boolean
  /** Pattern of the tag in `$tag$ … $tag$`. */
  dollarQuotes?: RegExp
  /** `q'[ … ]'`. */
  otherQuotes?: boolean
  /** A name, keyword or number. */
  word?: RegExp
}

const variable = /\$\{[^{}\n]*\}/y
const space = /\s+/y

/**
 * Returns a function that splits SQL of one kind. It never fails: an unclosed piece extends to the end, and the server
 * reports the error.
 */
function splitter(manner: Manner): (sql: string) => Generator<Piece> {
  const taken = (pattern: RegExp, sql: string, at: number): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  const plain = manner.backslashes
    ? /(['"`])(?:(?!\1)[^\\]|\1\1|\\[^])*(?:\1|\\?$)/y
    : /(['"`])(?:(?!\1)[^]|\1\1)*(?:\1|$)/y
  const name = manner.backslashesInNames ? plain : /(["`])(?:(?!\1)[^]|\1\1)*(?:\1|$)/y
  const { lineComment = /--[^\n\r]*/y, word = /[A-Za-z0-9_\u0080-\uffff][A-Za-z0-9_#@\u0080-\uffff]*/y } = manner

  function pieceAt(sql: string, at: number): Piece {
    const one = sql[at]!
    if (one === "'" || (one === '"' && manner.doubleQuotedTexts))
      return { kind: 'literal', text: taken(plain, sql, at)! }
    if (one === '"' || (one === '`' && manner.backticks)) return { kind: 'quoted name', text: taken(name, sql, at)! }
    if (one === '[' && manner.brackets)
      return { kind: 'quoted name', text: taken(/\[(?:[^\]]|\]\])*(?:\]|$)/y, sql, at)! }
    if (one === '‘' && manner.curlyQuotes) return { kind: 'literal', text: taken(/‘[^’]*’?/y, sql, at)! }
    if (one === '“' && manner.curlyQuotes) return { kind: 'quoted name', text: taken(/“[^”]*”?/y, sql, at)! }
    const comment =
      taken(lineComment, sql, at) ??
      (sql.startsWith('/*', at) ? sql.slice(at, commentEnd(sql, at, manner.nested ?? false)) : undefined)
    if (comment !== undefined) return { kind: 'comment', text: comment }
    const found = taken(variable, sql, at)
    if (found) return { kind: 'variable', text: found }
    if (manner.dollarQuotes && one === '$') {
      const tag = taken(/\$[^$]*\$/y, sql, at)
      const end = tag !== undefined && manner.dollarQuotes.test(tag) ? sql.indexOf(tag, at + tag.length) : -1
      // The end of the heredoc depends on the server's version, so variables after any other dollar sign are rejected.
      if (tag !== undefined) return { kind: 'literal', text: sql.slice(at, end < 0 ? sql.length : end + tag.length) }
    }
    const other = manner.otherQuotes ? otherQuote(sql, at) : undefined
    if (other !== undefined) return { kind: 'literal', text: other }
    const text = taken(word, sql, at)
    if (text !== undefined) return { kind: 'word', text }
    return { kind: 'code', text: taken(space, sql, at) ?? one }
  }

  return function* (sql) {
    for (let at = 0; at < sql.length; ) {
      const piece = pieceAt(sql, at)
      yield piece
      at += piece.text.length
    }
  }
}

function commentEnd(sql: string, at: number, nested: boolean): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = at + 2
  for (let depth = 1; ; ) {
    const mark = marks.exec(sql)
    if (!mark) return sql.length
    if (mark[0] === '*/') depth -= 1
    else if (nested) depth += 1
    if (depth === 0) return marks.lastIndex
  }
}

const closing: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')', '<': '>' }

/** Returns an Oracle literal such as `q'[it's]'`, with any delimiter in place of the brackets. */
function otherQuote(sql: string, at: number): string | undefined {
  const begin = /n?q'([^\s])/iy
  begin.lastIndex = at
  const found = begin.exec(sql)
  if (!found) return undefined
  const end = sql.indexOf(`${closing[found[1]!] ?? found[1]!}'`, at + found[0].length)
  return sql.slice(at, end < 0 ? sql.length : end + 2)
}

type Provider = (typeof warehouseTypes)[keyof typeof warehouseTypes]

const languages: Readonly<Record<Provider, SqlLanguage>> = {
  [warehouseTypes.postgres]: 'postgres',
  [warehouseTypes.redshift]: 'redshift',
  [warehouseTypes.clickhouse]: 'clickhouse',
  [warehouseTypes.synapse]: 'sql-server',
  [warehouseTypes.sqlServer]: 'sql-server',
  [warehouseTypes.none]: 'postgres',
}

/** Returns the SQL language of a schema's warehouse, in which transformations are written. */
export const warehouseLanguage = (provider: string): SqlLanguage => languages[provider as Provider] ?? 'postgres'
