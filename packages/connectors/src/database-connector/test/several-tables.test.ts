import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drawCount } from '@sluice/testing/random-case-count'
import { describeUnless } from '@sluice/testing/skip-tests'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import type { ReadRequest } from '../../connector.ts'
import { type ConnectorHarness, never, openHarness, silentReport } from '../../../test/connector-harness.ts'
import { createTableName } from '../../table-and-column-names.ts'
import { databasesHere, type TestDatabase } from './databases-under-test.ts'

interface TableSet {
  /** Names of tables, each with the rows that only this table has. */
  tables: { name: string; rows: number }[]
  writers: number
}

const tableSet = fc.record<TableSet>({
  tables: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('visits', 'Größe', 'A B', 'order', 'n1', '2026', 'Straße 1', 'x'.repeat(60)),
      rows: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3_000 })),
    }),
    { minLength: 2, maxLength: 6, selector: ({ name }) => name },
  ),
  writers: fc.integer({ min: 1, max: 3 }),
})

const runs = drawCount({ short: 3, long: 30 })

describe.each(databasesHere)('several tables of $name', ({ name: product, missing, start, type }) => {
  describeUnless(missing)('on a real server', () => {
    const scratch = scratchWarehouseForAll()
    let database: TestDatabase
    let harness: ConnectorHarness
    beforeAll(async () => {
      database = await start()
      harness = await openHarness(scratch)
    })
    afterAll(async () => {
      await harness?.[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })
    beforeEach(() => {
      harness.table = word('rows_')
      harness.messages.length = 0
    })

    const quote = (name: string) => (product === 'PostgreSQL' ? `"${name}"` : `\`${name}\``)
    const request = (names: readonly string[], changes: object = {}): ReadRequest => {
      const { password, ...jdbcSource } = database.jdbcSource
      const tables = names.map((name) => ({ schema: database.schema, name }))
      return { type, settings: { type, jdbcSource, tables, ...changes }, secrets: { password }, input: {} }
    }
    const warehouseName = (name: string) => createTableName(harness.table, [name])
    async function query(text: string): Promise<unknown[][]> {
      return (await scratch.superuser.query({ text, rowMode: 'array' })).rows
    }
    const rowsOf = async (name: string) => query(`select t::text from health."${warehouseName(name)}" t order by 1`)
    const contents = () => query(`select table_name, content, rows_read::int from health.${harness.table} order by 1`)
    async function createTable(name: string, rows: number): Promise<void> {
      await database.run(`drop table if exists ${quote(name)}`)
      await database.run(`create table ${quote(name)} (id integer, body varchar(40), moved bigint, primary key (id))`)
      for (let from = 0; from < rows; from += 1_000) {
        const values = Array.from({ length: Math.min(1_000, rows - from) }, (_, index) => -1 - from - index)
        await database.run(`insert into ${quote(name)} values ${values.map((id) => `(${id}, 'own', 0)`).join(', ')}`)
      }
    }

    it('are read in one snapshot, whatever is written meanwhile', async () => {
      let writtenMeanwhile = 0
      const holds = async ({ tables, writers }: TableSet): Promise<void> => {
        harness.table = word('rows_')
        harness.messages.length = 0
        const names = tables.map(({ name }) => name)
        for (const { name, rows } of tables) await createTable(name, rows)
        const over = new AbortController()
        // Each transaction adds the same id to every table, and removes another from every table.
        const writeAll = async (writer: number) => {
          for (let count = 1; !over.signal.aborted; count += 1) {
            const id = writer * 1_000_000 + count
            const changes = names.map(
              (name) =>
                `insert into ${quote(name)} values (${id}, 'both', 1); delete from ${quote(name)} where id = ${id - 3}`,
            )
            await database.run(`begin; ${changes.join('; ')}; commit`)
            if (harness.messages.some((message) => message.endsWith(' rows.')) && !over.signal.aborted)
              writtenMeanwhile += 1
          }
        }
        const writing = Promise.all(Array.from({ length: writers }, (_, index) => writeAll(index + 1)))
        const loaded = await harness.load(request(names)).finally(() => over.abort())
        await writing
        const sums = names.map((name) => `select count(*), sum(id) from health."${warehouseName(name)}" where id > 0`)
        const [first, ...others] = await query(sums.join(' union all '))
        for (const other of others) expect(other).toEqual(first)
        // Each table has as many rows as the load reported.
        const counts = loaded.map(({ table, rows }) => [table, rows]).filter(([table]) => table !== harness.table)
        const stored: unknown[] = []
        for (const name of names) stored.push([warehouseName(name), (await rowsOf(name)).length])
        expect(counts.toSorted()).toEqual(stored.toSorted())
        expect((await contents()).map(([table, , rows]) => [table, rows]).toSorted()).toEqual(stored.toSorted())
      }
      await fc.assert(fc.asyncProperty(tableSet, holds), { numRuns: runs, endOnFailure: true })
      // Between the reads of two tables.
      expect(writtenMeanwhile).toBeGreaterThan(0)
    }, 600_000)

    it('are all named if they cannot be read, before anything is read, and the old rows stay', async () => {
      const [good, view, secret, empty] = [word('good_'), word('view_'), word('secret_'), word('empty_')]
      await createTable(good, 3)
      await database.run(`create view ${view} as select id from ${good}`)
      await harness.load(request([good, view]))
      expect(await contents()).toHaveLength(2)
      const bad = [word('missing_'), word('absent_')]
      if (product === 'PostgreSQL') {
        await database.run(
          `create table ${secret} (id int); revoke all on ${secret} from ${database.jdbcSource.username}`,
        )
        await database.run(`create table ${empty} ()`)
        bad.push(secret, empty)
      }
      await database.run(`insert into ${quote(good)} values (9, 'new', 1)`)
      const wrong = request([bad[0]!, good, ...bad.slice(1), view])
      harness.messages.length = 0
      const problem = await harness.load(wrong).catch((error: Error) => error)
      expect(problem).toMatchObject({ name: 'SourceProblem', code: 'TABLE_MISSING' })
      expect((problem as Error).message).toContain(
        `${bad.length} of ${bad.length + 2} tables cannot be read, and a run loads all of them or none.`,
      )
      for (const name of bad) {
        expect((problem as Error).message).toContain(`${database.schema}.${name}: `)
        expect(harness.messages.filter((message) => message.startsWith(`${database.schema}.${name}: `))).toHaveLength(1)
      }
      if (product === 'PostgreSQL') expect((problem as Error).message).toContain(`.${empty}: The table has no columns.`)
      expect(harness.messages.filter((message) => message.startsWith('Read '))).toEqual([])
      expect([await rowsOf(good), await rowsOf(view)].map(({ length }) => length)).toEqual([3, 3])
      expect((await harness.testConnection(wrong))?.message).toContain(bad[1])
    })

    it('fail the run if one of them is dropped meanwhile, except in PostgreSQL, where the drop waits', async () => {
      const [one, two] = [word('one_'), word('two_')]
      await createTable(one, 2)
      await createTable(two, 2)
      await harness.load(request([one, two]))
      await createTable(one, 5)
      let dropping: Promise<unknown> | undefined
      const asked = { ...request([one, two]), table: harness.table }
      const kept: unknown[] = []
      const reading = async () => {
        const report = {
          ...silentReport,
          log: (_level: unknown, _importance: unknown, text: string) => void kept.push(text),
        }
        for await (const { table, content, columns } of harness.sources.read(asked, report, never)) {
          dropping ??= database.run(`drop table ${two}`)
          if (product !== 'PostgreSQL') await dropping
          let bytes = 0
          for await (const chunk of content.rows(columns)) bytes += chunk.bytes.length
          kept.push([table, bytes > 0])
        }
      }
      if (product === 'PostgreSQL') {
        await reading()
        expect(kept).toContainEqual([warehouseName(two), true])
        await dropping
        return
      }
      await expect(reading()).rejects.toMatchObject({
        code: expect.stringMatching(/TABLE_MISSING|STATEMENT_FAILED/),
        message: expect.stringContaining(`${database.schema}.${two}: `),
      })
      await expect(harness.load(request([one, two]))).rejects.toMatchObject({ code: 'TABLE_MISSING' })
      expect(await rowsOf(one)).toHaveLength(2)
    })

    it('can be added and removed, also from and to a single table', async () => {
      const names = [word('a_'), word('b_'), word('c_')]
      for (const [index, name] of names.entries()) await createTable(name, index + 1)
      const [a, b, c] = names as [string, string, string]
      const cursor = async () => (await scratch.warehouse.loader.findLastLoad('health', harness.table)).cursor
      await harness.load(request([a]), 'FULL', never, 'one')
      expect([await harness.values('id'), await cursor()]).toMatchObject([[['-1']], undefined])
      await harness.load(request([a, b]), 'FULL', never, 'two')
      expect(await contents()).toEqual([
        [warehouseName(a), `${database.schema}.${a}`, 1],
        [warehouseName(b), `${database.schema}.${b}`, 2],
      ])
      await harness.load(request([b, c]), 'FULL', never, 'other two')
      expect((await contents()).map(([table]) => table)).toEqual([warehouseName(b), warehouseName(c)])
      expect(harness.messages.join()).toContain(`no longer include the tables that fill ${warehouseName(a)}.`)
      expect(await rowsOf(a)).toHaveLength(1)
      await harness.load(request([c]), 'FULL', never, 'one of three')
      expect(await harness.values('id')).toHaveLength(3)
      // All of them are dropped with the pipeline.
      expect(await cursor()).toMatchObject({ tables: expect.arrayContaining([a, b, c].map(warehouseName)) })
    })

    if (product === 'MariaDB')
      it('are named in the run if their engine has no snapshots', async () => {
        const [one, two] = [word('one_'), word('two_')]
        await createTable(one, 1)
        await createTable(two, 1)
        await database.run(`alter table ${two} engine MyISAM`)
        await harness.load(request([one, two]))
        expect(harness.messages.filter((message) => message.includes('no snapshots'))).toEqual([
          expect.stringContaining(`: shop.${two} (MyISAM). Convert`),
        ])
      })

    it('are refused if two would fill the same table', async () => {
      const [one, two] = ['Cases 1', 'cases_1']
      const load = harness.load(request([one, 'other', two]))
      await expect(load).rejects.toMatchObject({
        code: 'DUPLICATE_TABLE',
        message: expect.stringContaining(
          `The tables ${database.schema}.${one} and ${database.schema}.${two} would both fill ${harness.table}__cases_1.`,
        ),
      })
      await expect(harness.load(request([two, two]))).rejects.toMatchObject({
        message: `The table ${database.schema}.${two} is listed twice. Remove one of the two entries.`,
      })
    })

    it('merge their increments, which equal a full read, and are all read in full if one cannot continue', async () => {
      const names = [word('a_'), word('b_'), word('empty_')]
      for (const name of names.slice(0, 2)) await createTable(name, 3)
      await createTable(names[2]!, 0)
      const [a, b, c] = names as [string, string, string]
      const settings = {
        tables: names.map((name) => ({
          schema: database.schema,
          name,
          ...(name === b && { incremental: { cursorColumn: 'moved', key: ['id'], lookback: 1 } }),
        })),
        incremental: { cursorColumn: 'moved', key: ['id'] },
      }
      const increment = async () => {
        harness.messages.length = 0
        const tables = await harness.load(request(names, settings), 'INCREMENTAL')
        return [
          Object.fromEntries(tables.map(({ table, rows }) => [table, rows])),
          harness.messages.filter((message) => message.includes('All rows are read, ')),
        ] as const
      }
      const isWhole = async () => {
        const increments = [await rowsOf(a), await rowsOf(b), await rowsOf(c)]
        const { table } = harness
        harness.table = word('rows_')
        await harness.load(request(names))
        const whole = [await rowsOf(a), await rowsOf(b), await rowsOf(c)]
        harness.table = table
        expect(increments).toEqual(whole)
      }
      expect((await increment())[1]).toEqual(['All rows are read, because no earlier load stored a cursor.'])
      await database.run(`insert into ${quote(a)} values (1, 'new', 5)`)
      await database.run(`update ${quote(b)} set body = 'changed', moved = 7 where id = -1`)
      await database.run(`insert into ${quote(c)} values (1, 'first', 1)`)
      expect((await increment())[1]).toEqual([])
      await isWhole()
      // Rows with the largest cursor are read again.
      await database.run(`insert into ${quote(c)} values (2, 'second', 2)`)
      const [rows, reasons] = await increment()
      expect(reasons).toEqual([])
      expect(rows).toMatchObject({ [warehouseName(a)]: 1, [warehouseName(b)]: 1, [warehouseName(c)]: 2 })
      await isWhole()
      await database.run(`delete from ${quote(b)} where id = -1`)
      await database.run(`delete from ${quote(a)} where id = -2`)
      expect((await increment())[1]).toEqual([
        expect.stringMatching(
          `^${database.schema}.${b}: All rows are read, .* All other tables are read in full too.$`,
        ),
      ])
      await isWhole()
    })

    it('have a preview of the first one, and of each one alone', async () => {
      const [one, two] = [word('one_'), word('two_')]
      await createTable(one, 2)
      await createTable(two, 4)
      const preview = async (names: string[]) => (await harness.sources.preview(request(names), 10, never)).rows.length
      expect([await preview([one, two]), await preview([two, one]), await preview([two])]).toEqual([2, 4, 4])
    })
  })
})
