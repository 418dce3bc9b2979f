import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import { connected, superuserUrl } from '@sluice/warehouses/testing/scratch-warehouse'
import fc from 'fast-check'
import { relationsInSql } from './relations-in-sql.ts'

const names = (sql: string) =>
  relationsInSql(sql).map(({ schema, name }) => (schema === undefined ? name : `${schema}.${name}`))

describe('relationsInSql', () => {
  it.each([
    ['select * from cases', ['cases']],
    ['SELECT * FROM Health.Cases c', ['health.cases']],
    ['select * from "Health"."My ""cases"""', ['Health.My "cases"']],
    ['select 1 from a, b as x, (select 2 from c) y, lateral (select 3 from d) z', ['a', 'b', 'c', 'd']],
    ['select 1 from a left join b on a.x = b.x and f(a, b) join only c using (x), d', ['a', 'b', 'c', 'd']],
    ['with recent as (select * from cases) select * from recent', ['cases']],
    ['with cases as (select * from cases) select * from cases', ['cases']],
    ['with a as (select 1), b as (select * from a) select * from b, (select 1 from a) c, d', ['d']],
    ['select 1 from (with a as (select 1) select * from a) x, a', ['a']],
    ['with recursive r (n) as (select 1 union all select n from r join t on true) select * from r', ['t']],
    ['with a as not materialized (select 1 from b) select * from a, health.a', ['b', 'health.a']],
    ['select extract(year from day), trim(both from name), substring(name from 2) from visits', ['visits']],
    ['select a is distinct from b, a is not distinct from c from visits', ['visits']],
    ["select 'from nowhere', $$ from nobody $$ -- from comment\n from cases /* , more */", ['cases']],
    ['select * from generate_series(1, 3) n, unnest(array[1]) u, cases', ['cases']],
    ['select * from cases where x in (select y from others) order by a, b', ['cases', 'others']],
    ['select 1 from a union select 2 from b; delete from c', ['a', 'b', 'c']],
    ['select * from cases where id = ${id} and x = $1', ['cases']],
    ['select c from', []],
    ['', []],
    ['((((', []],
  ])('finds the tables of %s', (sql, expected) => {
    expect(names(sql)).toEqual(expected)
  })

  it('never fails, for any text', () => {
    const piece = fc.constantFrom(
      'select',
      'from',
      'join',
      'with',
      'as',
      '(',
      ')',
      ',',
      '.',
      '"a',
      "'",
      '--',
      '/*',
      'x',
      ';',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 5 })), { maxLength: 40 }), (pieces) => {
        for (const { name } of relationsInSql(pieces.join(' '))) expect(typeof name).toBe('string')
      }),
      { numRuns: drawCount({ short: 500, long: 50_000 }) },
    )
  })
})

describe('in a database', () => {
  const tables = ['cases', 'visits', 'stock', 'year', 'Odd name']
  const schema = `lineage_${randomBytes(6).toString('hex')}`
  let database: Awaited<ReturnType<typeof connected>>
  beforeAll(async () => {
    database = await connected(superuserUrl())
    await database.query(`create schema ${schema}`)
    for (const table of tables) await database.query(`create table ${schema}."${table}" (id int, day date, n int)`)
    await database.query(`set search_path = ${schema}`)
  })
  afterAll(async () => {
    await database?.query(`drop schema ${schema} cascade`)
    await database?.[Symbol.asyncDispose]()
  })

  const anyTable = fc
    .tuple(fc.constantFrom(...tables), fc.boolean(), fc.boolean())
    .map(([table, isQualified, isQuoted]) => {
      const name = isQuoted || table.includes(' ') ? `"${table}"` : table.toUpperCase()
      return isQualified ? `${schema}.${name}` : name
    })
  const { query } = fc.letrec<{ query: string; item: string }>((tie) => ({
    item: fc.oneof(
      { maxDepth: 3 },
      anyTable,
      fc.constant('generate_series(1, 2)'),
      tie('query').map((inner) => `(${inner})`),
      tie('query').map((inner) => `lateral (${inner})`),
    ),
    query: fc.oneof(
      { maxDepth: 3 },
      fc
        .array(tie('item'), { minLength: 1, maxLength: 3 })
        .map(
          (items) =>
            `select 1 as n, extract(year from now()) as y from ${items.map((item, at) => `${item} as x${at}`).join(', ')}`,
        ),
      fc
        .tuple(tie('item'), tie('item'))
        .map(
          ([one, other]) =>
            `select 1 as n, 2 as y /* from a */ from ${one} p left join ${other} q on p is not distinct from null where exists (select 1)`,
        ),
      fc.tuple(tie('query'), tie('query')).map(([one, other]) => `(${one}) union all (${other})`),
      fc
        .tuple(tie('query'), anyTable)
        .map(([one, table]) =>
          `with stock as (${one}), w (n, y) as materialized (select * from stock) select n, y -- from b\n from w, stock s, ${table} t`.replace(
            'select n, y',
            'select w.n, w.y',
          ),
        ),
    ),
  }))

  it.each([
    [400, ['cases']],
    [600, []],
  ])('with %s nested parentheses finds the tables %j', (depth, expected) => {
    const found = relationsInSql(`${'('.repeat(depth)}select 1 from cases`)
    expect(found.map(({ name }) => name)).toEqual(expected)
  })

  it('finds the same tables as PostgreSQL when it creates a view of the query', async () => {
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        await database.query(`create temp view probe as ${text}`)
        try {
          const { rows } = await database.query(
            `select distinct c.relname as name from pg_rewrite w join pg_depend d on d.objid = w.oid and d.classid = 'pg_rewrite'::regclass
             join pg_class c on c.oid = d.refobjid and d.refclassid = 'pg_class'::regclass
             where w.ev_class = 'probe'::regclass and c.oid <> w.ev_class and c.relnamespace = '${schema}'::regnamespace`,
          )
          const expected = rows.map(({ name }) => name as string).toSorted()
          const found = new Set(relationsInSql(text).map(({ name }) => name))
          expect([text, [...found].toSorted()]).toEqual([text, expected])
        } finally {
          await database.query('drop view probe')
        }
      }),
      { numRuns: drawCount({ short: 150, long: 5_000 }) },
    )
  })
})
