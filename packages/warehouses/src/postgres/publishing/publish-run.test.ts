import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { casesForEach, two } from '../../../test/test-case-tables.ts'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples } from '../../../test/copy-tuples.ts'
import { LeaseLost } from '../../warehouse.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

describe('publishing in PostgreSQL', () => {
  const cases = casesForEach()
  const { scratch, load, rowsOf, found } = cases
  const typesOf = async () => Object.fromEntries((await found())!.columns.map(({ name, dataType }) => [name, dataType]))

  it('pruneLedger deletes old publications except the last one of a table', async () => {
    const publications = [await load(numbered(1)), await load(numbered(2)), await load(numbered(3))]
    const { run: recent } = publications[1]!
    await scratch.superuser.query(
      `update sluice.ledger set published_at = now() - interval '40 days' where run = any($1)`,
      [publications.filter(({ run }) => run !== recent).map(({ run }) => run)],
    )
    expect(await scratch.warehouse.upkeep.pruneLedger(30)).toBe(1)
    const found = await Promise.all(publications.map(({ run }) => scratch.warehouse.loader.findPublication(run)))
    expect(found.map((one) => one?.rows)).toEqual([undefined, 2, 3])
    expect(await scratch.warehouse.upkeep.pruneLedger(-1000)).toBe(0)
    await using read = await connectedAs(scratch.access, 'read')
    await expect(read.query('select sluice.prune_ledger(1)')).rejects.toMatchObject({ code: '42501' })
  })

  it('does not wait for other loads up to the configured number of loads', async () => {
    const end = new AbortController()
    await using warehouse = openPostgresWarehouse(scratch.access, { loads: 8 })
    async function* endless() {
      yield* numberedTuples(1)
      await new Promise(() => {})
    }
    const stuck = Array.from({ length: 7 }, async () => {
      await using one = await warehouse.loader.stage(
        { schema: 'health', table: word('stuck_'), columns: two, run: word(), attempt: 1 },
        never,
      )
      await one.write(binary(endless), end.signal)
    })
    await sleep(300)
    expect((await loadAll(warehouse, { table: cases.table, columns: two }, numbered(2))).rows).toBe(2)
    end.abort(new Error('enough'))
    expect((await Promise.allSettled(stuck)).map(({ status }) => status)).toEqual(stuck.map(() => 'rejected'))
  })

  it('adds new columns, keeps vanished columns as null, and reports each change once', async () => {
    expect((await load([[1, 'a']])).tables[0]?.changes).toEqual([])
    const grown = await load([['b', '2.50', 2]], columns({ name: 'TEXT', price: 'DECIMAL(5,2)', id: 'INTEGER' }))
    expect(grown.tables[0]?.changes).toEqual([{ kind: 'COLUMN_ADDED', column: 'price', to: 'DECIMAL(5,2)' }])
    expect(await rowsOf()).toEqual([[2, 'b', '2.50']])
    const shrunk = await load([[3, 'c']])
    expect(shrunk.tables[0]?.changes).toEqual([{ kind: 'COLUMN_VANISHED', column: 'price', warning: true }])
    expect(await rowsOf()).toEqual([[3, 'c', null]])
    expect((await load([[4, 'd']])).tables[0]?.changes).toEqual([])
    expect((await load([[5, 'e']])).tables[0]?.changes).toEqual([])
    expect(await rowsOf()).toEqual([[5, 'e', null]])
  })

  it('widens types, including the type of the partition key, and does not narrow them', async () => {
    await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))
    const { tables } = await load([['9223372036854775807', '1.5']], columns({ id: 'BIGINT', value: 'DECIMAL(3,1)' }))
    expect(tables[0]?.changes).toEqual([
      { kind: 'TYPE_WIDENED', column: 'id', from: 'SMALLINT', to: 'BIGINT' },
      { kind: 'TYPE_WIDENED', column: 'value', from: 'INTEGER', to: 'DECIMAL(11,1)' },
    ])
    expect(await rowsOf()).toEqual([['9223372036854775807', '1.5']])
    expect((await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))).tables[0]?.changes).toEqual([])
    expect(await typesOf()).toEqual({ id: 'BIGINT', value: 'DECIMAL' })
    await load([['eins', 't']], columns({ id: 'TEXT', value: 'BOOLEAN' }))
    expect(await rowsOf()).toEqual([['eins', 't']])
    await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))
    expect(await rowsOf()).toEqual([['1', '2']])
    await using reader = await connectedAs(scratch.access, 'read')
    expect((await reader.query(`select id from health.${cases.table}`)).rows).toEqual([{ id: '1' }])
  })

  it('updates labels that changed', async () => {
    await load([[1, 'a']])
    await load(
      [[1, 'a']],
      two.map((column) => ({ ...column, label: `Label of ${column.name}` })),
    )
    expect((await found())?.columns.map(({ label }) => label)).toEqual(['Label of id', 'Label of name'])
  })

  it('returns the first publication when the run was published before', async () => {
    const run = word('run')
    const first = await loadAll(scratch.warehouse, { table: cases.table, columns: two, run }, numbered(3))
    const again = await loadAll(scratch.warehouse, { table: cases.table, columns: two, run, attempt: 2 }, numbered(9))
    expect(again).toEqual(first)
    expect(await scratch.warehouse.loader.findPublication(run)).toEqual(first)
    expect(first).toMatchObject({
      run,
      attempt: 1,
      rows: 3,
      bytes: 45,
      tables: [{ schema: 'health', table: cases.table, rows: 3, bytes: 45, changes: [] }],
    })
    expect(await rowsOf()).toHaveLength(3)
  })

  it('publishes once when two attempts of a run publish at the same time', async () => {
    for (let round = 0; round < 8; round += 1) {
      const run = word('run')
      const loads = await Promise.all(
        [1, 2].map((attempt) =>
          stage(scratch.warehouse, { table: cases.table, columns: two, run, attempt }, numbered(attempt)),
        ),
      )
      const [one, other] = await Promise.all(
        loads.map((each) => scratch.warehouse.loader.publish([each], async () => true, never)),
      )
      expect(one).toEqual(other)
      await Promise.all(loads.map((each) => each[Symbol.asyncDispose]()))
      expect(await rowsOf()).toHaveLength(one!.attempt)
      expect((await scratch.superuser.query('select from sluice.ledger where run = $1', [run])).rowCount).toBe(1)
    }
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('publishes concurrent first loads of different runs into one table, which keeps only the rows of the last', async () => {
    const publications = await Promise.all([1, 2, 3].map((size) => load(numbered(size, `load ${size}`))))
    expect(publications.map(({ rows }) => rows)).toEqual([1, 2, 3])
    // The publications enter the ledger while they hold the lock of the table.
    const { rows: entries } = await scratch.superuser.query<{ run: string }>(
      'select run from sluice.ledger_table where table_name = $1 order by entered',
      [cases.table],
    )
    expect(entries.map(({ run }) => run).toSorted()).toEqual(publications.map(({ run }) => run).toSorted())
    const last = publications.find(({ run }) => run === entries.at(-1)!.run)!
    expect((await rowsOf()).toSorted()).toEqual(numbered(last.rows, `load ${last.rows}`))
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('publishes all tables of a run, or no table if the lease is lost', async () => {
    const run = word('run')
    const other = `${cases.table}_other`
    await load([[1, 'old']])
    const attempt = async (isCurrentAttempt: boolean) => {
      await using first = await stage(scratch.warehouse, { table: cases.table, columns: two, run }, [[2, 'new']])
      await using second = await stage(scratch.warehouse, { table: other, columns: two, run }, [[3, 'new']])
      return await scratch.warehouse.loader.publish([second, first], async () => isCurrentAttempt, never)
    }
    await expect(attempt(false)).rejects.toBeInstanceOf(LeaseLost)
    expect(await rowsOf()).toEqual([[1, 'old']])
    expect(await scratch.warehouse.catalog.findTable('health', other)).toBeUndefined()
    expect(await scratch.warehouse.loader.findPublication(run)).toBeUndefined()
    expect((await attempt(true)).tables.map((each) => each.table)).toEqual([cases.table, other])
    expect(await leftovers(scratch.superuser)).toEqual([])
  })
})
