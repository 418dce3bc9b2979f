import { type SqlPiece, splitSql } from './split-sql.ts'
import { warehouseTypes } from '@sluice/contracts/connector-types'

/** The SQL syntax of a server: a source database, or a warehouse that runs transformations. */
export type SqlLanguage = 'postgres' | 'redshift' | 'mysql' | 'sql-server' | 'oracle' | 'clickhouse'

export interface SqlRules {
  /** Splits SQL into pieces. The joined pieces are the original text. */
  pieces(sql: string): Iterable<SqlPiece>
  /** Returns a literal that the server reads as exactly this text, with any settings of the server. */
  text(value: string): string
  identifier(name: string): string
}

const doubleQuotes = (text: string): string => text.replaceAll("'", "''")

/** Returns a text literal for PostgreSQL. With the prefix `E`, the meaning of backslashes does not depend on `standard_conforming_strings`. */
const postgresText = (value: string): string =>
  value.includes('\\') ? `E'${doubleQuotes(value).replaceAll('\\', '\\\\')}'` : `'${doubleQuotes(value)}'`

/** Writes backslashes as character codes: Redshift reads them as escapes, PostgreSQL does not, and codes mean the same in both. */
function redshiftText(value: string): string {
  if (!value.includes('\\')) return `'${doubleQuotes(value)}'`
  return `(${value
    .split('\\')
    .map((part) => `'${doubleQuotes(part)}'`)
    .join(' || chr(92) || ')})`
}

/**
 * Writes texts as hexadecimal digits, which do not depend on MySQL's settings for backslashes. Dates and times stay plain, because
 * `date '2026-01-01'` accepts no other literal.
 */
const mysqlText = (value: string): string =>
  /^\d+([-:. T]\d+)*Z?$/.test(value) ? `'${value}'` : `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`

/** Escapes line breaks too, so that a value inside of a comment that this tokenizer does not recognise cannot end it. */
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
      // Tags consist of word characters; older servers accept any character.
      dollarQuotes: /^\$\w*\$$/,
      // `#` before a space starts a comment, also before a variable, because values are inserted with a space before them.
      lineComment: /(?:--|\/\/|#(?=[ !]|\$\{))[^\n]*/y,
      nested: true,
      // Non-ASCII characters are quotes, spaces or errors. Names may contain dollar signs, numbers may not.
      word: /[A-Za-z_](?:\w|\$(?!\{))*|\d\w*/y,
    }),
    text: clickhouseText,
    identifier: inDoubleQuotes,
  },
}

export const getSqlRules = (language: SqlLanguage): SqlRules => rulesByLanguage[language]

/** Returns the literals of a text for all servers, with and without quotes, to redact them in error messages that quote a query. */
export const listSqlLiterals = (value: string): string[] =>
  Object.values(rulesByLanguage).flatMap(({ text }) => [text(value), text(value).replace(/^[EN]?'([^]*)'$/, '$1')])

interface SqlSyntax {
  /** Whether a backslash escapes the next character in a literal. */
  backslashes?: boolean
  backslashesInNames?: boolean
  /** Whether backticks quote names; `brackets` is the same for square brackets. */
  backticks?: boolean
  brackets?: boolean
  /** Whether double quotes contain texts rather than names. */
  doubleQuotedTexts?: boolean
  /** Whether ‘texts’ and “names” can have curly quotes, which have no escapes. */
  curlyQuotes?: boolean
  /** Pattern of line comments; `--` by default. */
  lineComment?: RegExp
  /** Whether comments nest. */
  nested?: boolean
  /** Pattern of the tag in `$tag$ … $tag$`. */
  dollarQuotes?: RegExp
  /** Whether literals such as `q'[ … ]'` exist, as in Oracle. */
  otherQuotes?: boolean
  /** Pattern of a name, keyword or number. */
  word?: RegExp
}

const variablePattern = /\$\{[^{}\n]*\}/y
const spacePattern = /\s+/y

/**
 * Returns a function that splits SQL with this syntax into pieces. It never fails: an unclosed piece extends to the end of the text, and
 * the server reports the error.
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

  function pieceAt(sql: string, position: number): SqlPiece {
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
        ? sql.slice(position, commentEnd(sql, position, syntax.nested ?? false))
        : undefined)
    if (comment !== undefined) return { kind: 'comment', text: comment }
    const variable = matchAt(variablePattern, sql, position)
    if (variable) return { kind: 'variable', text: variable }
    if (syntax.dollarQuotes && character === '$') {
      const tag = matchAt(/\$[^$]*\$/y, sql, position)
      const end = tag !== undefined && syntax.dollarQuotes.test(tag) ? sql.indexOf(tag, position + tag.length) : -1
      // If the tag is invalid, the rest of the text is a literal, in which variables are rejected: versions of the server differ here.
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
      const piece = pieceAt(sql, position)
      yield piece
      position += piece.text.length
    }
  }
}

/** Returns the end of a block comment that begins at `position`. */
function commentEnd(sql: string, position: number, nested: boolean): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = position + 2
  let depth = 1
  for (;;) {
    const mark = marks.exec(sql)
    if (!mark) return sql.length
    if (mark[0] === '*/') depth -= 1
    else if (nested) depth += 1
    if (depth === 0) return marks.lastIndex
  }
}

const closingBrackets: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')', '<': '>' }

/** Returns the Oracle literal at a position, such as `q'[it's]'` or with another delimiter; undefined for other text. */
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

/** Returns the SQL language of a schema's warehouse, in which transformations are written. */
export const getWarehouseLanguage = (provider: string): SqlLanguage =>
  languageByProvider[provider as WarehouseProvider] ?? 'postgres'
