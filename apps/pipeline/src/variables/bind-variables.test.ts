import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import type { Client } from 'pg'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import { bindVariables } from './bind-variables.ts'
import { splitSql } from './split-sql.ts'

const variables = new Map([
  ['x', 'value of x'],
  ['a longer name', `it's "quoted" \\ $$ -- /* \${x}`],
])

const bound = (sql: string) => {
  const { text, values } = bindVariables(sql, variables)
  return [text, ...values]
}
const refusal = (sql: string) => {
  try {
    return bound(sql)
  } catch (error) {
    return (error as Error).message
  }
}

describe('bindVariables', () => {
  it.each([
    ['select ${x}', ['select $1  ', 'value of x']],
    ['select ${ x }, ${x}', ['select $1    , $2  ', 'value of x', 'value of x']],
    ['select 1 -- ${x} ${nobody}\n, ${x}', ['select 1 -- ${x} ${nobody}\n, $1  ', 'value of x']],
    ['select /* ${x /* ${y} */ ${z} */ ${x}', ['select /* ${x /* ${y} */ ${z} */ $1  ', 'value of x']],
    [String.raw`select E'\'' || ${'${x}'}`, [String.raw`select E'\'' || $1  `, 'value of x']],
    [String.raw`select '\' || ${'${x}'}`, [String.raw`select '\' || $1  `, 'value of x']],
    ['select "a""b" = ${x}', ['select "a""b" = $1  ', 'value of x']],
    ['select $q$ $1 $q$, a$b, $$$$', ['select $q$ $1 $q$, a$b, $$$$']],
    ['select ${x', ['select ${x']],
    ["select '${x}'", ['select $1    ', 'value of x']],
    ['select ${x:list}', ['select $1       ', 'value of x']],
    ['select * from ${x:identifier}', ['select * from "value of x"   ']],
  ])('binds %j', (sql, expected) => {
    expect(bound(sql)).toEqual(expected)
  })

  it.each([
    [
      'select ${y}',
      'The variable ${y} does not exist or has no value. Create it, correct its name, or pass its value in `variables` of the run.',
    ],
    ["select ${y}, '%${x}%'", /is in quotes/],
    [
      "select '%${x}'",
      "The variable ${x} is in quotes with other text. Write '${x}' for the value alone, and join it with other text by || or concat().",
    ],
    ['select * from ${x}', /is used as a table name/],
    ['select $q$ ${x} $q$', /is in quotes/],
    [String.raw`select E'a\''` + "\n -- and\n '\\' ${x}'", /is in quotes/],
    ['select * from "${x}"', /is inside of a quoted name/],
    ['select * from table_${x}', /directly follows a word/],
    ['select a$${x}', /directly follows a word/],
    ['select $1', 'The query uses $1, which has no value here. Write ${name} for a variable.'],
    [`select ${'${x},'.repeat(100)} 1`, /more than 99 times/],
  ])('refuses %j', (sql, sentence) => {
    expect(refusal(sql)).toEqual(typeof sentence === 'string' ? sentence : expect.stringMatching(sentence))
  })

  it('splits any text into pieces that join to the same text', () => {
    const soup = fc.array(fc.constantFrom(...`'"$\\/*-eEq{}x1;\n `, 'ü', '${x}', '$q$', '--', '/*', '*/'), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(soup, (parts) => {
        const sql = parts.join('')
        expect([...splitSql(sql)].map(({ text }) => text).join('')).toBe(sql)
      }),
      { numRuns: drawCount({ short: 3_000, long: 100_000 }) },
    )
  })

  it.each([
    ['a long row of dashes after a literal', `select 'x' ${'-'.repeat(50_000)}`],
    ['many comments after a literal', `select 'x' ${' --'.repeat(30_000)}`],
    ['many comment lines after a literal', `select 'x' ${'\n-- x'.repeat(20_000)}`],
  ])('splits SQL within five seconds for %s', (_, sql) => {
    const began = performance.now()
    expect([...splitSql(sql)].map(({ text }) => text).join('')).toBe(sql)
    // Milliseconds now; it was longer than anybody waits.
    expect(performance.now() - began).toBeLessThan(5_000)
  })

  describe('in PostgreSQL', () => {
    let client: Client & AsyncDisposable
    beforeAll(async () => {
      client = await connected(superuserUrl())
    })
    afterAll(() => client.end())

    /** Text that is quoted in some way, and what it means; `$` and `{` are not side by side in it. */
    const content = fc
      .array(fc.constantFrom(...`'"$\\/*-x {}\n`, 'ü', '--', '/*', '*/', '$$', '$q$'), { maxLength: 12 })
      .map((parts) => parts.join('').replaceAll('${', '$ {'))
    const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`
    const expressions = fc.oneof(
      fc.constantFrom('x', 'a longer name').map((name) => ({ sql: `\${${name}}::text`, means: variables.get(name)! })),
      content.map((text) => ({ sql: quoted(text), means: text })),
      content.map((text) => ({ sql: `E${quoted(text.replaceAll('\\', '\\\\'))}`, means: text })),
      content.map((text) => ({ sql: `E'a\\'' \n${quoted(text.replaceAll('\\', '\\\\'))}`, means: `a'${text}` })),
      content.map((text) => ({ sql: `$é1$ ${text}$é1$`, means: ` ${text}` })),
      content.map((text) => ({ sql: `/* /* ${text.replaceAll(/\*\/|\/\*|[*/]/g, '')} */ \${x} */ 'c'`, means: 'c' })),
      content.map((text) => ({ sql: `-- \${x} ${text.replaceAll('\n', '')}\n'd'`, means: 'd' })),
    )

    it('returns each bound value and each literal unchanged, with any quoting and comments around it', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(expressions, { minLength: 1, maxLength: 8 }), async (list) => {
          const { text, values } = bindVariables(`select ${list.map(({ sql }) => sql).join(',')}`, variables)
          const { rows } = await client.query({ text, values, rowMode: 'array' })
          expect(rows[0]).toEqual(list.map(({ means }) => means))
        }),
        { numRuns: drawCount({ short: 200, long: 10_000 }) },
      )
    })
  })
})
