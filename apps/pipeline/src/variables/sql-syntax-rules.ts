import { type SqlPiece, splitSql } from './split-sql.ts'
import { warehouseTypes } from '@sluice/contracts/connector-types'

/** The SQL syntax of a source database, or of a warehouse that runs transformations. */
export type SqlLanguage = 'postgres' | 'redshift' | 'mysql' | 'sql-server' | 'oracle' | 'clickhouse'

export interface SqlRules {
  /** Splits SQL into pieces. The pieces together are the original text. */
  pieces(sql: string): Iterable<SqlPiece>
  /** Returns a literal that the database parses as exactly this text, regardless of its settings. */
  text(value: string): string
  identifier(name: string): string
}

const doubleQuotes = (text: string): string => text.replaceAll("'", "''")

/**
 * Returns a text literal for PostgreSQL. The prefix `E` makes the meaning of backslashes independent of the setting
 * `standard_conforming_strings`.
 */
const postgresText = (value: string): string =>
  value.includes('\\') ? `E'${doubleQuotes(value).replaceAll('\\', '\\\\')}'` : `'${doubleQuotes(value)}'`

/**
 * Returns a text literal that is valid in Redshift and PostgreSQL. Writes backslashes as character codes, because
 * Redshift treats a backslash as an escape and PostgreSQL does not.
 */
function redshiftText(value: string): string {
  if (!value.includes('\\')) return `'${doubleQuotes(value)}'`
  return `(${value
    .split('\\')
    .map((part) => `'${doubleQuotes(part)}'`)
    .join(' || chr(92) || ')})`
}

/**
 * Returns a text literal for MySQL. Writes the text in hexadecimal, which does not depend on MySQL's settings for
 * backslashes. Dates and times are written as plain text, because `date '2026-01-01'` accepts nothing else.
 */
const mysqlText = (value: string): string =>
  /^\d+([-:. T]\d+)*Z?$/.test(value) ? `'${value}'` : `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`

/**
 * Returns a text literal for ClickHouse. Escapes line breaks too: if the value is in a comment that this tokenizer does
 * not recognise, a line break would end the comment.
 */
const clickhouseText = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`

const inDoubleQuotes = (name: string): string => `"${name}"`

const rulesByLanguage: Readonly<Record<SqlLanguage, SqlRules>> = {
  postgres: { pieces: splitSql, text: postgresText, identifier: inDoubleQuotes },
  redshift: {
    pieces: createSplitter({
      backslashes: true,
      dollarQuotes: /^\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$$/,
      nested: true,
      word: /[A-Za-z0-9_\u0080-\uffff](?:[A-Za-z0-9_#@\u0080-\uffff]|\$(?!\{))*/y,
    }),
    text: redshiftText,
    identifier: inDoubleQuotes,
  },
  mysql: {
    pieces: createSplitter({
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
    pieces: createSplitter({ brackets: true, nested: true }),
    text: (value) => `N'${doubleQuotes(value)}'`,
    identifier: (name) => `[${name}]`,
  },
  oracle: {
    pieces: createSplitter({ otherQuotes: true }),
    text: (value) => `'${doubleQuotes(value)}'`,
    identifier: inDoubleQuotes,
  },
  clickhouse: {
    pieces: createSplitter({
      backslashes: true,
      backslashesInNames: true,
      backticks: true,
      curlyQuotes: true,
      // Tags consist of word characters. Older versions of ClickHouse accept any character.
      dollarQuotes: /^\$\w*\$$/,
      // `#` starts a comment if a space follows, and therefore before a variable too, because values are inserted with
      // a space before them.
      lineComment: /(?:--|\/\/|#(?=[ !]|\$\{))[^\n]*/y,
      nested: true,
      // Non-ASCII characters are quotes, spaces or errors. Names can contain dollar signs; numbers cannot.
      word: /[A-Za-z_](?:\w|\$(?!\{))*|\d\w*/y,
    }),
    text: clickhouseText,
    identifier: inDoubleQuotes,
  },
}

export const getSqlRules = (language: SqlLanguage): SqlRules => rulesByLanguage[language]

/**
 * Returns the literals of a text in all languages, with and without quotes. They are redacted in error messages,
 * because these can quote a query.
 */
export const listSqlLiterals = (value: string): string[] =>
  Object.values(rulesByLanguage).flatMap(({ text }) => [text(value), text(value).replace(/^[EN]?'([^]*)'$/, '$1')])

interface SqlSyntax {
  /** Whether a backslash escapes the next character in a literal. */
  backslashes?: boolean
  backslashesInNames?: boolean
  /** Whether backticks quote names. `brackets`: whether square brackets do. */
  backticks?: boolean
  brackets?: boolean
  /** Whether double quotes enclose text instead of names. */
  doubleQuotedTexts?: boolean
  /** Whether ‘text’ and “names” can have curly quotes. They have no escapes. */
  curlyQuotes?: boolean
  /** The pattern of line comments. Default: `--`. */
  lineComment?: RegExp
  /** Whether block comments nest. */
  nested?: boolean
  /** The pattern of the tag in `$tag$ … $tag$`. */
  dollarQuotes?: RegExp
  /** Whether literals such as `q'[ … ]'` exist, as in Oracle. */
  otherQuotes?: boolean
  /** The pattern of a name, keyword or number. */
  word?: RegExp
}

const variablePattern = /\$\{[^{}\n]*\}/y
const spacePattern = /\s+/y

/**
 * Returns a function that splits SQL of this syntax into pieces. It never fails: an unclosed piece extends to the
 * end of the text, and the database reports the error.
 */
function createSplitter(syntax: SqlSyntax): (sql: string) => Generator<SqlPiece> {
  const matchAt = (pattern: RegExp, sql: string, position: number): string | undefined => {
    pattern.lastIndex = position
    return pattern.exec(sql)?.[0]
  }
  const textPattern = syntax.backslashes
    ? /(['"`])(?:(?!\1)[^\\]|\1\1|\\[^])*(?:\1|\\?$)/y
    : /(['"`])(?:(?!\1)[^]|\1\1)*(?:\1|$)/y
  const name = syntax.backslashesInNames ? textPattern : /(["`])(?:(?!\1)[^]|\1\1)*(?:\1|$)/y
  const { lineComment = /--[^\n\r]*/y, word = /[A-Za-z0-9_\u0080-\uffff][A-Za-z0-9_#@\u0080-\uffff]*/y } = syntax

  function readPieceAt(sql: string, position: number): SqlPiece {
    const character = sql[position]!
    if (character === "'" || (character === '"' && syntax.doubleQuotedTexts))
      return { kind: 'literal', text: matchAt(textPattern, sql, position)! }
    if (character === '"' || (character === '`' && syntax.backticks))
      return { kind: 'quoted name', text: matchAt(name, sql, position)! }
    if (character === '[' && syntax.brackets)
      return { kind: 'quoted name', text: matchAt(/\[(?:[^\]]|\]\])*(?:\]|$)/y, sql, position)! }
    if (character === '‘' && syntax.curlyQuotes) return { kind: 'literal', text: matchAt(/‘[^’]*’?/y, sql, position)! }
    if (character === '“' && syntax.curlyQuotes)
      return { kind: 'quoted name', text: matchAt(/“[^”]*”?/y, sql, position)! }
    const comment =
      matchAt(lineComment, sql, position) ??
      (sql.startsWith('/*', position)
        ? sql.slice(position, findBlockCommentEnd(sql, position, syntax.nested ?? false))
        : undefined)
    if (comment !== undefined) return { kind: 'comment', text: comment }
    const variable = matchAt(variablePattern, sql, position)
    if (variable) return { kind: 'variable', text: variable }
    if (syntax.dollarQuotes && character === '$') {
      const tag = matchAt(/\$[^$]*\$/y, sql, position)
      const end = tag !== undefined && syntax.dollarQuotes.test(tag) ? sql.indexOf(tag, position + tag.length) : -1
      // Versions of PostgreSQL parse a dollar quote with an invalid tag differently. The rest of the text then counts
      // as a literal, because variables in literals are rejected.
      if (tag !== undefined)
        return { kind: 'literal', text: sql.slice(position, end < 0 ? sql.length : end + tag.length) }
    }
    const other = syntax.otherQuotes ? readQuotedByDelimiter(sql, position) : undefined
    if (other !== undefined) return { kind: 'literal', text: other }
    const text = matchAt(word, sql, position)
    if (text !== undefined) return { kind: 'word', text }
    return { kind: 'code', text: matchAt(spacePattern, sql, position) ?? character }
  }

  return function* (sql) {
    for (let position = 0; position < sql.length; ) {
      const piece = readPieceAt(sql, position)
      yield piece
      position += piece.text.length
    }
  }
}

/**
 * Returns the end of the block comment that begins at `position`. `nested` says whether block comments nest in the
 * language.
 */
function findBlockCommentEnd(sql: string, position: number, nested: boolean): number {
  const commentMark = /\/\*|\*\//g
  commentMark.lastIndex = position + 2
  let depth = 1
  for (;;) {
    const mark = commentMark.exec(sql)
    if (!mark) return sql.length
    if (mark[0] === '*/') depth -= 1
    else if (nested) depth += 1
    if (depth === 0) return commentMark.lastIndex
  }
}

const closingBrackets: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')', '<': '>' }

/**
 * Returns the Oracle literal at a position, such as `q'[it's]'`, also with other delimiters; undefined if there is
 * none.
 */
function readQuotedByDelimiter(sql: string, position: number): string | undefined {
  const begin = /n?q'([^\s])/iy
  begin.lastIndex = position
  const opening = begin.exec(sql)
  if (!opening) return undefined
  const end = sql.indexOf(`${closingBrackets[opening[1]!] ?? opening[1]!}'`, position + opening[0].length)
  return sql.slice(position, end < 0 ? sql.length : end + 2)
}

type WarehouseProvider = (typeof warehouseTypes)[keyof typeof warehouseTypes]

const languageByProvider: Readonly<Record<WarehouseProvider, SqlLanguage>> = {
  [warehouseTypes.postgres]: 'postgres',
  [warehouseTypes.redshift]: 'redshift',
  [warehouseTypes.clickhouse]: 'clickhouse',
  [warehouseTypes.synapse]: 'sql-server',
  [warehouseTypes.sqlServer]: 'sql-server',
  [warehouseTypes.none]: 'postgres',
}

/** Returns the SQL language of a schema's warehouse, which transformations use. */
export const getWarehouseLanguage = (provider: string): SqlLanguage =>
  languageByProvider[provider as WarehouseProvider] ?? 'postgres'
