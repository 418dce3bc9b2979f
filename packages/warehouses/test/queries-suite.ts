import { describe, expect, it } from '@jest/globals'
import type { TextPosition } from '../src/query-runner.ts'
import { columns, loadAll, never, numbered } from './row-fixtures.ts'
import type { Given } from './warehouse-under-test.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })

/** What every warehouse does with queries that users write. */
export function queriesSuite(subject: Given): void {
  const ask = (text: string, more: object = {}) =>
    subject.warehouse.queries.query({ text, schemas: ['health'], ...more })

  describe('a query of a user', () => {
    it('resolves table names with a schema, and without one in the given schemas', async () => {
      const { warehouse } = subject
      await warehouse.catalog.ensureSchema('other')
      await loadAll(warehouse, { table: 'asked', columns: shape }, numbered(5))
      await loadAll(warehouse, { schema: 'other', table: 'elsewhere', columns: shape }, numbered(2, 'other'))
      const joined = `with few as (select id from asked where id < 3)
        select a.id as id, e.name as name from few a join elsewhere e on a.id = e.id order by a.id -- from nowhere`
      const { rows, columns: found } = await ask(joined, { schemas: ['health', 'other'] })
      expect(rows).toEqual([
        [1, 'other'],
        [2, 'other'],
      ])
      expect(found.map(({ name, dataType }) => [name, dataType])).toEqual([
        ['id', 'INTEGER'],
        ['name', 'TEXT'],
      ])
      expect((await ask('select * from "other"."elsewhere" order by id')).rows).toEqual([
        [1, 'other'],
        [2, 'other'],
      ])
    })

    it('binds values as parameters, and compares numeric values as numbers', async () => {
      const text = `select name from asked where id > $1 and name <> $2 order by id`
      const values = ['3', `x' or 1 = 1 --\t\\`]
      expect((await ask(text, { values })).rows).toEqual([['x'], ['x']])
    })

    it('is limited by rows and bytes, and returns whether there are more rows', async () => {
      const two = await ask('select id from asked order by id', { limits: { rows: 2, offset: 1 } })
      expect(two).toMatchObject({ rows: [[2], [3]], more: true, truncated: false })
      const all = await ask('select id from asked order by id', { limits: { rows: 5 } })
      expect(all).toMatchObject({ more: false })
      const million = subject.subject.differs?.wide ?? `repeat('x', 1000000)`
      const wide = await ask(`select id, ${million} as w from asked`, { limits: { bytes: 2_500_000 } })
      expect(wide.truncated).toBe(true)
      expect(wide.rows.length).toBeLessThan(5)
    })

    it('is rejected if it writes or has several statements', async () => {
      for (const text of [
        'drop table health.asked',
        'select 1; drop table health.asked',
        'insert into health.asked values (1)',
        'select 1) as q; drop table health.asked; select * from (select 1',
        'create table health.more (id int)',
      ])
        await expect(ask(text)).rejects.toMatchObject({
          code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/),
        })
      expect((await ask('select count(*) as n from asked')).rows.map(([n]) => Number(n))).toEqual([5])
    })

    it('fails with the message and the position of the error', async () => {
      await expect(ask('select nothing_like_it\nfrom asked')).rejects.toMatchObject({
        code: 'QUERY_FAILED',
        message: expect.stringContaining('nothing_like_it'),
      })
      await expect(ask('select id\nfrom asked where group by')).rejects.toMatchObject({
        message: expect.stringMatching(/in line 2, column \d+/),
      })
      await expect(ask('select * from nowhere')).rejects.toMatchObject({
        code: 'QUERY_FAILED',
        message: expect.stringMatching(
          /nowhere.*[^.]\. It was deleted or not created yet\. Load the table, create the view, or correct the query\.$/,
        ),
      })
      await expect(ask('select 1 / (id - id) from asked where id = cast(name as integer)')).rejects.toMatchObject({
        code: 'QUERY_FAILED',
      })
    })

    it('fails with the position in the text of the user, if another text is sent', async () => {
      const toUserPosition = ({ line, column }: TextPosition): TextPosition => ({
        line: line + 40,
        ...(column !== undefined && { column: column + 100 }),
      })
      await expect(ask('select id\nfrom asked where group by', { toUserPosition })).rejects.toMatchObject({
        message: expect.stringMatching(/in line 42(, column 1\d\d)?/),
      })
    })

    it('ends at its time limit, or when its signal is aborted', async () => {
      const long =
        'select count(*) from asked a, asked b, asked c, asked d, asked e, asked f, asked g, asked h, asked i, asked j, asked k, asked l, asked m, asked n'
      await expect(ask(long, { limits: { seconds: 1 } })).rejects.toMatchObject({ code: 'QUERY_TIMEOUT' })
      const reason = new Error('gone')
      await expect(subject.warehouse.queries.query({ text: 'select 1' }, AbortSignal.abort(reason))).rejects.toBe(
        reason,
      )
    })

    it('is planned without being run', async () => {
      const { queries } = subject.warehouse
      const tables = 'abcdefghijklmn'.split('').map((name) => `asked ${name}`)
      const long = { text: `select count(*) as n from ${tables.join(', ')} -- all of them`, schemas: ['health'] }
      if (subject.subject.differs?.plans === false) {
        await expect(queries.explain(long, never)).rejects.toMatchObject({ code: 'NOT_SUPPORTED_HERE' })
        return
      }
      const { text, reads, estimatedRows = 1 } = await queries.explain(long, never)
      expect(text.split('\n').length).toBeGreaterThan(2)
      expect(reads).toEqual([{ schema: 'health', name: 'asked' }])
      expect(estimatedRows).toBe(1)
      for (const refused of [
        'drop table health.asked',
        'select 1; drop table health.asked',
        'analyze select count(*) from asked',
        'analyze delete from asked',
        'insert into health.asked values (9)',
        'select 1) as q; drop table health.asked; select * from (select 1',
      ])
        await expect(queries.explain({ text: refused, schemas: ['health'] }, never)).rejects.toMatchObject({
          code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/),
        })
      expect((await ask('select count(*) as n from asked')).rows.map(([n]) => Number(n))).toEqual([5])
      await expect(
        queries.explain({ text: 'select id\nfrom asked where group by', schemas: ['health'] }, never),
      ).rejects.toMatchObject({ message: expect.stringMatching(/in line 2, column \d+/) })
      const reason = new Error('gone')
      await expect(queries.explain(long, AbortSignal.abort(reason))).rejects.toBe(reason)
    })

    it('has an ambiguous table if two schemas contain the unqualified name', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'twice', columns: shape }, numbered(1))
      await loadAll(warehouse, { schema: 'other', table: 'twice', columns: shape }, numbered(1))
      const query = { text: 'select * from twice', schemas: ['health', 'other'] }
      expect(await warehouse.queries.findAmbiguousTable(query, 0, never)).toEqual({
        name: 'twice',
        schemas: ['health', 'other'],
      })
      expect(await warehouse.queries.findAmbiguousTable(query, 1, never)).toBeUndefined()
    })

    it('returns all pages from one snapshot while a load replaces the table', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'pushed', columns: shape }, numbered(2_500))
      const sizes: number[] = []
      const ids = new Set<unknown>()
      const pages = warehouse.queries.queryPages({ text: 'select * from "health"."pushed"' }, 1_000, never)
      for await (const { rows } of pages) {
        if (sizes.length === 0) await loadAll(warehouse, { table: 'pushed', columns: shape }, numbered(3, 'later'))
        sizes.push(rows.length)
        for (const [id] of rows) ids.add(id)
      }
      expect([sizes, ids.size]).toEqual([[1_000, 1_000, 500], 2_500])
      const none = warehouse.queries.queryPages({ text: 'select * from "health"."pushed" where id < 0' }, 10, never)
      expect(await Array.fromAsync(none)).toEqual([])
    })

    it('finds the names of columns by their beginning', async () => {
      const { warehouse } = subject
      const wide = columns({ id: 'INTEGER', region: 'TEXT', 'Region name': 'TEXT', 'a_b%': 'TEXT' })
      await loadAll(warehouse, { table: 'named', columns: wide }, [[1, 'a', 'b', 'c']])
      await loadAll(warehouse, { schema: 'other', table: 'named', columns: shape }, numbered(1))
      const places = (await warehouse.catalog.listRelations(['health', 'other'])).filter(({ name }) => name === 'named')
      const find = (prefix: string, limit = 10) => warehouse.catalog.findColumnNames(places, prefix, limit)
      expect(await find('reg')).toEqual([
        { column: 'Region name', schema: 'health', table: 'named', dataType: 'TEXT', tables: 1 },
        { column: 'region', schema: 'health', table: 'named', dataType: 'TEXT', tables: 1 },
      ])
      expect(await find('ID')).toEqual([
        { column: 'id', schema: 'health', table: 'named', dataType: 'INTEGER', tables: 2 },
      ])
      expect((await find('')).map(({ column }) => column)).toEqual(['Region name', 'a_b%', 'id', 'name', 'region'])
      expect((await find('', 2)).map(({ column }) => column)).toEqual(['Region name', 'a_b%'])
      expect(await find('%')).toEqual([])
      expect(await find('a%')).toEqual([])
      expect(await find("x' or '1' = '1")).toEqual([])
      expect(await warehouse.catalog.findColumnNames([], '', 10)).toEqual([])
    })

    it('cannot read tables of another organisation', async () => {
      const { warehouse, subject: both } = subject
      await loadAll(both.neighbour, { table: 'secret', columns: shape }, numbered(1, 'hidden'))
      expect(await warehouse.catalog.findTable('health', 'secret')).toBeUndefined()
      expect(await warehouse.catalog.listRelations(['health'])).not.toContainEqual({ schema: 'health', name: 'secret' })
      await expect(ask('select * from health.secret')).rejects.toMatchObject({ code: 'QUERY_FAILED' })
      // Past our own look-up, it is the server that refuses: which needs to know who asks.
      if (both.hasUsers)
        await expect(ask(await both.spying('secret'))).rejects.toMatchObject({
          code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/),
        })
      await loadAll(warehouse, { table: 'secret', columns: shape }, numbered(1, 'mine'))
      expect((await both.neighbour.queries.readTable('health', 'secret', { limit: 9, offset: 0 })).rows).toEqual([
        [1, 'hidden'],
      ])
    })
  })
}
