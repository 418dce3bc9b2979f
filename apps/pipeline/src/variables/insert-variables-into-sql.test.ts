import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Connection } from 'mysql2/promise'
import type { Client } from 'pg'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { mariadbMissing, startMariadb, type Mariadb } from '@sluice/connectors/testing/mariadb-server'
import {
  findUserPosition,
  findVariablesInSql,
  insertVariablesIntoSql,
  replaceSqlVariables,
} from './insert-variables-into-sql.ts'
import { getSqlRules, type SqlLanguage } from './sql-syntax-rules.ts'

const placed = (sql: string, value: string, language: SqlLanguage = 'postgres') =>
  insertVariablesIntoSql(sql, new Map([['x', value]]), language)
    .trim()
    .replaceAll(/ +/g, ' ')
const refusal = (sql: string, value = 'v', language: SqlLanguage = 'postgres') => {
  try {
    return placed(sql, value, language)
  } catch (error) {
    return (error as Error).message
  }
}

/** What is meant to end a literal, begin a comment, or be taken for something else. */
const pieces = [
  `'`,
  `"`,
  '`',
  '\\',
  `\\'`,
  `''`,
  '--',
  '/*',
  '*/',
  '#',
  ';',
  '\n',
  '$$',
  '$q$',
  '$1q$',
  '$',
  'a$q$',
  '\r',
  '//',
  '# ',
  '‘',
  '’',
  '“',
  '”',
  '[',
  ']',
  `q'[`,
  `]'`,
  'x',
  'ü',
  '😀',
  ' or 1=1 ',
  '${x}',
  '0',
  '-',
]
const hostile = fc.array(fc.constantFrom(...pieces), { maxLength: 10 }).map((some) => some.join(''))

describe('insertVariablesIntoSql', () => {
  it.each<[string, string, SqlLanguage, string]>([
    ['select ${x}', '7', 'postgres', 'select 7'],
    ['select 1 -${x}', '-7', 'postgres', 'select 1 - (-7)'],
    ['select ${x}', '007', 'postgres', `select '007'`],
    ['select ${x}', '-0', 'postgres', `select '-0'`],
    ['select ${x}', '-0.0', 'mysql', `select _utf8mb4 X'2d302e30'`],
    ['select ${x}', '-0.5', 'postgres', 'select (-0.5)'],
    ['select ${x}', `o'brien`, 'postgres', `select 'o''brien'`],
    ['select ${x}', `a\\'`, 'postgres', `select E'a\\\\'''`],
    [`select '\${x}'`, '7', 'postgres', `select '7'`],
    [
      `select * from t where id in (\${x:list})`,
      `1, 2,o'x`,
      'postgres',
      `select * from t where id in ( 1, 2, 'o''x' )`,
    ],
    [
      'select * from t where id in (${x:list})',
      '["a,b","c"]',
      'postgres',
      `select * from t where id in ( 'a,b', 'c' )`,
    ],
    ['select * from t where id in (${x:list})', '', 'postgres', 'select * from t where id in ( null )'],
    ['select * from ${x:identifier}', 'My table', 'postgres', 'select * from "My table"'],
    ['select * from ${x:identifier}', 'My table', 'mysql', 'select * from `My table`'],
    ['select * from ${x:identifier}', 'My table', 'sql-server', 'select * from [My table]'],
    [
      `select * from t where day > date '\${x}'`,
      '2026-01-31',
      'mysql',
      `select * from t where day > date '2026-01-31'`,
    ],
    ['select ${x}', `a'`, 'mysql', `select _utf8mb4 X'6127'`],
    ['select ${x}', `a'`, 'sql-server', `select N'a'''`],
    ['select ${x}', `a'`, 'oracle', `select 'a'''`],
    ['select ${x}', `a\\`, 'redshift', `select ('a' || chr(92) || '')`],
    ['select ${x}', `a\\'`, 'clickhouse', `select 'a\\\\\\''`],
    ['select a is distinct from ${x}', '7', 'postgres', 'select a is distinct from 7'],
    [
      "select extract(year from '${x}'::date), substring(a from ${x})",
      '7',
      'postgres',
      "select extract(year from '7' ::date), substring(a from 7 )",
    ],
    ['select 1 -- ${y}\n, ${x}', '7', 'postgres', 'select 1 -- ${y}\n, 7'],
    ['select 1 # ${y}\n, ${x}', '7', 'mysql', 'select 1 # ${y}\n, 7'],
    ['select 1 // ${y}\n, ${x}', '7', 'clickhouse', 'select 1 // ${y}\n, 7'],
    ['select 1 #! ${y}\n, ${x}', '7', 'clickhouse', 'select 1 #! ${y}\n, 7'],
    ['select 1 -- ${y}\r${y}\n, ${x}', '7', 'clickhouse', 'select 1 -- ${y}\r${y}\n, 7'],
    ['select a# ${y}\n, ${x}', '7', 'mysql', 'select a# ${y}\n, 7'],
    ["select $1q$ it's $1q$, ${x}", '7', 'clickhouse', "select $1q$ it's $1q$, 7"],
    ["select ‘it's’, a$b$, ${x}", '7', 'clickhouse', "select ‘it's’, a$b$, 7"],
    ['select ${x}', 'a\r\nb', 'clickhouse', "select 'a\\r\\nb'"],
    [`select q'[it's \${]', \${x} from dual`, '7', 'oracle', `select q'[it's \${]', 7 from dual`],
  ])('writes %s with value %j for %s as %s', (sql, value, language, expected) => {
    expect(placed(sql, value, language)).toBe(expected)
  })

  it.each<[string, SqlLanguage, RegExp]>([
    [`select '%\${x}%'`, 'postgres', /in quotes with other text.*'\$\{x\}' for the value alone/],
    [`select '%\${x}%'`, 'mysql', /in quotes/],
    ['select "%${x}%"', 'mysql', /in quotes/],
    [`select q'[\${x}]' from dual`, 'oracle', /in quotes/],
    ['select "${x}"', 'postgres', /quoted name.*\$\{x\}:identifier|quoted name.*\$\{x:identifier\}/],
    ['select * from `${x}`', 'mysql', /quoted name/],
    ['select * from [${x}]', 'sql-server', /quoted name/],
    ['insert into t select $q$ year ${x} $q$', 'clickhouse', /in quotes/],
    ['insert into t select $1q$ year ${x} $1q$', 'clickhouse', /in quotes/],
    ['insert into t select $a b$ year ${x} $a b$', 'clickhouse', /in quotes/],
    ['select $a = ${x} or $a = ${x}', 'clickhouse', /in quotes/],
    ["select a$b$, '$b$ ${x}'", 'clickhouse', /in quotes/],
    ["select a$b$, '$b$ ${x}'", 'redshift', /in quotes/],
    ['select ‘ ${x}’', 'clickhouse', /in quotes/],
    ['select 1 as “ ${x}”', 'clickhouse', /quoted name/],
    ['select 1 as "a\\" ${x} "', 'clickhouse', /quoted name/],
    ['select 1 as `a\\` ${x} `', 'clickhouse', /quoted name/],
    ['select * from ${x}', 'postgres', /is used as a table name.*\$\{x:identifier\}/],
    ['select * from t\njoin /* here */ ${x} on true', 'postgres', /is used as a table name/],
    ['select a${x}', 'postgres', /directly follows a word/],
    ['select ${x:name}', 'postgres', /:identifier or :list, or omit/],
    ['select ${y}', 'postgres', /variable .* does not exist/],
  ])('refuses the variable in %s for %s', (sql, language, sentence) => {
    expect(refusal(sql, 'v', language)).toMatch(sentence)
  })

  it('refuses values with quotes, backslashes or line breaks as identifiers, and NUL in any value', () => {
    for (const value of ['a"b', 'a`b', 'a]b', `a'b`, 'a\\b', '', 'a\nb'])
      expect(refusal('select * from ${x:identifier}', value)).toMatch(/its value is not a valid one/)
    expect(refusal('select ${x}', 'a\0b')).toMatch(/NUL/)
  })

  it('finds the variables of a query by name, except in comments', () => {
    const sql = `select \${a}, '\${b}', \${c:list} from \${d:identifier} -- \${e}`
    expect([...findVariablesInSql(sql, 'postgres')]).toEqual(['a', 'b', 'c', 'd'])
  })
})

describe('hostile variable values', () => {
  describe('in PostgreSQL', () => {
    let client: Client & AsyncDisposable
    beforeAll(async () => {
      client = await connected(superuserUrl())
    })
    afterAll(() => client?.end())

    it.each(['on', 'off'])('are returned unchanged with standard_conforming_strings %s', async (strings) => {
      await client.query(`set standard_conforming_strings = ${strings}; set escape_string_warning = off`)
      await fc.assert(
        fc.asyncProperty(hostile, async (value) => {
          const list = JSON.stringify([value, 'end'])
          const variables = new Map(Object.entries({ value, list }))
          // The generated queries contain no backslash, because its meaning depends on the server's settings.
          const sql = `select \${value} || '' as a, '\${value}' as b, array[\${list:list}]::text[] as c /* ' */ -- '`
          const { rows } = await client.query(insertVariablesIntoSql(sql, variables, 'postgres'))
          expect(rows).toEqual([{ a: value, b: value, c: [value, 'end'] }])
        }),
        { numRuns: 300 },
      )
    })
  })

  describe('in MariaDB', () => {
    const missing = mariadbMissing()
    if (missing !== undefined) {
      it.skip(missing, () => {})
      return
    }
    let mariadb: Mariadb
    let connection: Connection
    beforeAll(async () => {
      mariadb = await startMariadb()
      connection = mariadb.admin
      await connection.query('set names utf8mb4')
    })
    afterAll(() => mariadb?.[Symbol.asyncDispose]())

    it.each(['', 'NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES'])('are returned unchanged in SQL mode %j', async (mode) => {
      await connection.query(`set sql_mode = '${mode}'`)
      await fc.assert(
        fc.asyncProperty(hostile, async (value) => {
          const list = JSON.stringify([value, 'end'])
          const variables = new Map(Object.entries({ value, list }))
          const sql = `select concat(\${value}, '') as a, '\${value}' as b, concat_ws('|', \${list:list}) as c`
          const [rows] = await connection.query(insertVariablesIntoSql(sql, variables, 'mysql'))
          expect(rows).toEqual([{ a: value, b: value, c: `${value}|end` }])
        }),
        { numRuns: 300 },
      )
    })
  })

  /**
   * Reads a literal as each server does: returns its value and the text after it. Follows the documentation of the
   * servers, independently of the code that writes literals.
   */
  const readers: Partial<Record<SqlLanguage, (sql: string) => [string, string]>> = {
    'sql-server': (sql) => doubledQuotes(sql.replace(/^N/, '')),
    oracle: doubledQuotes,
    redshift: concatenated,
    clickhouse: escaped,
  }

  it.each(Object.entries(readers))('are read unchanged as a literal of %s', (language, read) => {
    fc.assert(
      fc.property(hostile, (value) => {
        const sql = insertVariablesIntoSql('${value}', new Map([['value', value]]), language as SqlLanguage).trim()
        if (/^\(?-?\d/.test(sql)) return expect(sql.replace(/^\((.*)\)$/, '$1')).toBe(value)
        expect(read(sql)).toEqual([value, ''])
        // The inserted text is also one literal for a search for variables.
        const kinds = [...getSqlRules(language as SqlLanguage).pieces(sql)].map(({ kind }) => kind)
        expect(kinds).not.toContain('variable')
      }),
      { numRuns: 1_000 },
    )
  })

  it('do not change the tokens of a ClickHouse statement, with any text around them', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (before, behind, value) => {
        const template = `${before} \${x} ${behind}`
        // Neither of the two is a number, which would be no literal.
        const [one, other] = ['v', `v${value}`].map((some) => refusalOr(template, some))
        expect(other).toEqual(one)
      }),
      { numRuns: 5_000 },
    )
  })

  it.each<SqlLanguage>(['postgres', 'redshift', 'mysql', 'sql-server', 'oracle', 'clickhouse'])(
    'a query for %s splits into pieces that join to the same text',
    (language) => {
      fc.assert(
        fc.property(hostile, hostile, (one, other) => {
          const sql = `${one} ${other}`
          expect([...getSqlRules(language).pieces(sql)].map(({ text }) => text).join('')).toBe(sql)
        }),
        { numRuns: 2_000 },
      )
    },
  )
})

function doubledQuotes(sql: string): [string, string] {
  expect(sql[0]).toBe("'")
  let text = ''
  for (let at = 1; at < sql.length; at += 1) {
    if (sql[at] !== "'") text += sql[at]
    else if (sql[at + 1] === "'") text += sql[(at += 1)]
    else return [text, sql.slice(at + 1)]
  }
  throw new Error('not closed')
}

/** A statement of ClickHouse without its texts in single quotes, or why it does not run. */
function refusalOr(template: string, value: string): string | string[] {
  try {
    const tokens = clickhouseTokens(insertVariablesIntoSql(template, new Map([['x', value]]), 'clickhouse'))
    if (tokens.includes('#')) return 'Unrecognized token: #'
    return tokens.map((token) => (token.startsWith("'") && token.endsWith("'") ? "''" : token))
  } catch (error) {
    return (error as Error).message
  }
}

/** By the server's `Lexer.cpp`, in the order in which it looks. */
function clickhouseTokens(sql: string): string[] {
  const token =
    /\s+|--[^\n]*|\/\/[^\n]*|#[ !][^\n]*|'(?:[^'\\]|''|\\[^])*'?|"(?:[^"\\]|""|\\[^])*"?|`(?:[^`\\]|``|\\[^])*`?|‘[^’]*’?|“[^”]*”?|(\$\w*\$)[^]*?\1|\$?[A-Za-z_][\w$]*|\d\w*|[^]/y
  const tokens: string[] = []
  for (token.lastIndex = 0; token.lastIndex < sql.length; ) {
    const at = token.lastIndex
    if (sql.startsWith('/*', at)) token.lastIndex = commentEnd(sql, at)
    else token.exec(sql)
    tokens.push(sql.slice(at, token.lastIndex))
  }
  return tokens
}

/** Comments nest, and one that is not closed reaches to the end. */
function commentEnd(sql: string, start: number): number {
  let depth = 0
  for (let at = start; at < sql.length; at += 1) {
    if (sql.startsWith('/*', at)) [depth, at] = [depth + 1, at + 1]
    else if (sql.startsWith('*/', at)) [depth, at] = [depth - 1, at + 1]
    if (depth === 0) return at + 1
  }
  return sql.length
}

function escaped(sql: string): [string, string] {
  expect(sql[0]).toBe("'")
  let text = ''
  for (let at = 1; at < sql.length; at += 1) {
    if (sql[at] === '\\') text += { n: '\n', r: '\r' }[sql[(at += 1)]!] ?? sql[at]
    else if (sql[at] === "'") return [text, sql.slice(at + 1)]
    else text += sql[at]
  }
  throw new Error('not closed')
}

function concatenated(sql: string): [string, string] {
  if (!sql.startsWith('(')) return doubledQuotes(sql)
  let text = ''
  let rest = sql.slice(1)
  for (;;) {
    if (rest.startsWith('chr(92)')) [text, rest] = [`${text}\\`, rest.slice('chr(92)'.length)]
    else {
      const [part, left] = doubledQuotes(rest)
      // Neither way of reading backslashes may change it.
      expect(part).not.toContain('\\')
      ;[text, rest] = [text + part, left]
    }
    if (rest.startsWith(' || ')) rest = rest.slice(4)
    else return [text, rest.replace(/^\)/, '')]
  }
}

describe('findUserPosition', () => {
  const positionOf = (text: string) => {
    const lines = text.split('\n')
    return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
  }
  const values = fc.constantFrom('1', '-7', 'north', "it's\n\\ two lines", 'ä😀', 'x'.repeat(50))
  const own = fc.constantFrom(
    'select ',
    '\n',
    ' id, ',
    "concat('text 😀') ",
    '-- ${A} of a comment\n',
    ' + ',
    '"Name" ',
    '/* a\nb */ ',
  )
  const used = fc.constantFrom(' ${A} ', " '${A}' || ", ' ${B:list} ')

  it('maps every position outside of variables to itself, and those in a value to its variable', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(own, used), { maxLength: 12 }), values, values, (pieces, a, b) => {
        const sql = pieces.join('')
        const parts = [
          ...replaceSqlVariables(
            sql,
            new Map([
              ['A', a],
              ['B', b],
            ]),
            'postgres',
          ),
        ]
        expect(parts.map((part) => part.userText).join('')).toBe(sql)
        let [before, sent] = ['', '']
        for (const part of parts) {
          for (let at = 0; at < part.sent.length; at += String.fromCodePoint(part.sent.codePointAt(at)!).length) {
            const expected = positionOf(part.userText === part.sent ? before + part.userText.slice(0, at) : before)
            expect(findUserPosition(parts, positionOf(sent + part.sent.slice(0, at)))).toEqual(expected)
          }
          before += part.userText
          sent += part.sent
        }
        expect(findUserPosition(parts, positionOf(sent))).toEqual(positionOf(sql))
      }),
    )
  })

  it('keeps a line without a column', () => {
    const parts = [...replaceSqlVariables("select '${A}',\n${A}\nfrom t", new Map([['A', 'x\ny']]), 'sql-server')]
    expect([1, 2, 3, 4, 5].map((line) => findUserPosition(parts, { line }))).toEqual([
      { line: 1 },
      { line: 1 },
      { line: 2 },
      { line: 2 },
      { line: 3 },
    ])
  })
})
