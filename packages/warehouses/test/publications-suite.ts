import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LeaseLost, type LoadTarget, type PublishOptions } from '../src/warehouse.ts'
import { columns, given, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { deletesMarkedRows, lawOfIncrements } from './increments-suite.ts'
import { appendsPartsOnce, keepsRowsThatTakePrecedence, lawOfWriteModes } from './write-modes-suite.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const keyed = shape.map((column) => ({ ...column, primaryKey: column.name === 'id' }))

/** What every warehouse does when rows become a table. */
export function publicationsSuite(subject: Given): void {
  const publish = async (
    target: Partial<LoadTarget> & Pick<LoadTarget, 'columns'>,
    rows: (string | number | null)[][],
    options: PublishOptions = {},
  ) => {
    await using load = await stage(subject.warehouse, target, rows)
    return await subject.warehouse.loader.publish([load], async () => true, never, options)
  }

  describe('published rows', () => {
    it('replace the old rows once, and the run is recorded in the ledger', async () => {
      const { warehouse } = subject
      const run = randomUUID()
      await loadAll(warehouse, { table: 'cases', columns: shape }, numbered(3, 'old'))
      const first = await publish({ table: 'cases', columns: shape, run }, [[7, 'new']])
      expect(first).toMatchObject({ run, attempt: 1, rows: 1, tables: [{ schema: 'health', table: 'cases', rows: 1 }] })
      expect(await rowsIn(warehouse, 'cases')).toEqual([[7, 'new']])
      expect(await publish({ table: 'cases', columns: shape, run, attempt: 2 }, [[8, 'again']])).toEqual(first)
      expect(await warehouse.loader.findPublication(run)).toEqual(first)
      expect(await rowsIn(warehouse, 'cases')).toEqual([[7, 'new']])
      expect(await warehouse.loader.findPublication('nobody')).toBeUndefined()
    })

    it('stay hidden if the attempt lost its lease', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'fenced', columns: shape }, numbered(1, 'old'))
      await using load = await stage(warehouse, { table: 'fenced', columns: shape }, [[2, 'zombie']])
      await expect(warehouse.loader.publish([load], async () => false, never)).rejects.toBeInstanceOf(LeaseLost)
      expect(await rowsIn(warehouse, 'fenced')).toEqual([[1, 'old']])
    })

    it('are visible only if fenceRun returned their publication, and the next attempt can publish', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'closed', columns: shape }, numbered(1, 'old'))
      const run = randomUUID()
      await using load = await stage(warehouse, { table: 'closed', columns: shape, run }, [[2, 'new']])
      const [passing, passed] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
      const isCurrentAttempt = () => (passing.resolve(), passed.promise)
      const publishing = warehouse.loader.publish([load], isCurrentAttempt, never).catch(() => undefined)
      await passing.promise
      const closing = warehouse.loader.fenceRun(run, 1)
      await Promise.race([closing, sleep(500)])
      passed.resolve(true)
      const published = await publishing
      expect(await closing).toEqual(published)
      expect(await rowsIn(warehouse, 'closed')).toEqual([published ? [2, 'new'] : [1, 'old']])
      const again = await publish({ table: 'closed', columns: shape, run, attempt: 2 }, [[2, 'new']])
      expect(await warehouse.loader.fenceRun(run, 2)).toEqual(again)
      expect(await rowsIn(warehouse, 'closed')).toEqual([[2, 'new']])
    })

    it('are in all tables of a run', async () => {
      const { warehouse } = subject
      const run = randomUUID()
      await using one = await stage(warehouse, { table: 'parent', columns: shape, run }, numbered(2))
      await using other = await stage(warehouse, { table: 'child', columns: shape, run }, numbered(3))
      const { rows, tables } = await warehouse.loader.publish([one, other], async () => true, never)
      expect([rows, tables.map(({ table }) => table)]).toEqual([5, ['child', 'parent']])
      expect([(await rowsIn(warehouse, 'parent')).length, (await rowsIn(warehouse, 'child')).length]).toEqual([2, 3])
    })

    it('are visible to readers as a whole, not mixed with old rows', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'busy', columns: shape }, numbered(500, 'r0'))
      const loading = new AbortController()
      const seen = new Set<string>()
      const reader = (async () => {
        while (!loading.signal.aborted) {
          const { rows } = await warehouse.queries.query({
            text: 'select count(*) as n, min(name) as a, max(name) as b from busy',
            schemas: ['health'],
          })
          seen.add(JSON.stringify([Number(rows[0]![0]), rows[0]![1] === rows[0]![2]]))
        }
      })()
      for (let round = 1; round <= 5; round += 1)
        await loadAll(warehouse, { table: 'busy', columns: shape }, numbered(500, `r${round}`))
      loading.abort()
      await reader
      expect([...seen]).toEqual(['[500,true]'])
    })

    it('widen narrower types, keep vanished columns as null, and report the changes', async () => {
      const { warehouse } = subject
      const before = columns({ n: 'SMALLINT', gone: 'TEXT', day: 'DATE', code: 'VARCHAR_50' })
      await loadAll(warehouse, { table: 'evolving', columns: before }, [[1, 'x', '2026-01-01', 'a']])
      const after = columns({ n: 'BIGINT', day: 'DATE', code: 'INTEGER', more: 'DECIMAL(5,2)' })
      const { tables } = await publish({ table: 'evolving', columns: after }, [
        ['5000000000', '2026-01-02', '7', '1.25'],
      ])
      expect(tables[0]!.changes.map(({ kind, column }) => `${kind} ${column}`).toSorted()).toEqual(
        ['COLUMN_ADDED more', 'COLUMN_VANISHED gone', 'TYPE_WIDENED code', 'TYPE_WIDENED n'].filter(
          (change) => !(change === 'TYPE_WIDENED code' && !tables[0]!.changes.some(({ column }) => column === 'code')),
        ),
      )
      const page = await warehouse.queries.readTable('health', 'evolving', { limit: 5, offset: 0 })
      expect(page.columns.map(({ name, dataType }) => `${name} ${dataType}`)).toEqual([
        'n BIGINT',
        'gone TEXT',
        'day DATE',
        'code TEXT',
        'more DECIMAL',
      ])
      expect(page.rows).toEqual([['5000000000', null, '2026-01-02', '7', '1.25']])
    })

    it('need primary keys that are unique and not null', async () => {
      const { warehouse } = subject
      await publish({ table: 'keyed', columns: keyed }, [
        [1, 'a'],
        [2, 'b'],
      ])
      await expect(
        publish({ table: 'keyed', columns: keyed }, [
          [3, 'a'],
          [3, 'b'],
        ]),
      ).rejects.toMatchObject({
        code: 'DUPLICATE_KEY',
        message:
          'Nothing was loaded into "health"."keyed", because 2 rows of the source have the same key (id = 3). Correct the source, or choose another key.',
      })
      await expect(publish({ table: 'keyed', columns: keyed }, [[null, 'a']])).rejects.toMatchObject({
        code: 'NULL_KEY',
      })
      expect(await warehouse.catalog.findTable('health', 'keyed')).toMatchObject({
        rowCount: 2,
        columns: [{ name: 'id', primaryKey: true }, { primaryKey: false }],
      })
    })

    it('are merged by key once with their cursor, and columns that the increment lacks become null', async () => {
      const { warehouse } = subject
      const whole = [...keyed, ...columns({ extra: 'TEXT' })]
      await publish(
        { table: 'merged', columns: whole },
        [
          [1, 'a', 'x'],
          [2, 'b', 'y'],
          [3, 'c', 'z'],
        ],
        {
          cursors: { merged: { seen: 3 } },
        },
      )
      expect((await warehouse.loader.findLastLoad('health', 'merged')).cursor).toEqual({ seen: 3 })
      const run = randomUUID()
      const increment = { table: 'merged', columns: keyed, run }
      const merge: PublishOptions = { mode: 'MERGE', cursors: { merged: { seen: 4 } } }
      expect(
        await publish(
          increment,
          [
            [2, 'B'],
            [4, 'd'],
          ],
          merge,
        ),
      ).toMatchObject({ rows: 2 })
      const sorted = async () => (await rowsIn(warehouse, 'merged')).toSorted((a, b) => Number(a[0]) - Number(b[0]))
      const expected = [
        [1, 'a', 'x'],
        [2, 'B', null],
        [3, 'c', 'z'],
        [4, 'd', null],
      ]
      expect(await sorted()).toEqual(expected)
      await publish(
        { ...increment, attempt: 2 },
        [
          [2, 'twice'],
          [5, 'e'],
        ],
        merge,
      )
      expect(await sorted()).toEqual(expected)
      expect((await warehouse.loader.findLastLoad('health', 'merged')).cursor).toEqual({ seen: 4 })
      await expect(publish({ table: 'merged', columns: shape }, [[1, 'a']], merge)).rejects.toMatchObject({
        code: 'NO_PRIMARY_KEY',
      })
    })

    lawOfIncrements(subject)
    deletesMarkedRows(subject)
    lawOfWriteModes(subject)
    keepsRowsThatTakePrecedence(subject)
    appendsPartsOnce(subject)

    it('can be queried and refused by a gate', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'gated', columns: shape }, numbered(2, 'old'))
      const run = randomUUID()
      await using load = await stage(warehouse, { table: 'gated', columns: shape, run }, numbered(3, 'new'))
      const refused = new Error('refused')
      const gate: PublishOptions['gate'] = async (tables, signal) => {
        await using rehearsal = await warehouse.loader.exposeStagedRows(tables, { run, attempt: 1 })
        const schemas = [rehearsal.schema, 'health']
        const { rows } = await warehouse.queries.query({
          text: 'select count(*) as n, min(name) as a from gated',
          schemas,
        })
        expect(rows.map(([n, name]) => [Number(n), name])).toEqual([[3, 'new']])
        expect(await rehearsal.findOldRows({ text: 'select * from gated', schemas }, signal)).toBeUndefined()
        expect(await rehearsal.findOldRows({ text: 'select * from health.gated', schemas }, signal)).toEqual({
          name: 'health.gated',
          view: false,
        })
        throw refused
      }
      await expect(warehouse.loader.publish([load], async () => true, never, { gate })).rejects.toBe(refused)
      expect((await rowsIn(warehouse, 'gated')).length).toBe(2)
    })

    it('store the reference to the profile of the rows, until rows without a profile replace them', async () => {
      const { warehouse } = subject
      const target = { schema: 'health', table: 'measured', columns: shape, run: randomUUID(), attempt: 1 }
      await using load = await warehouse.loader.stage(target, never)
      await load.write(given(numbered(2)), never)
      const id = randomUUID()
      load.profile = id
      await warehouse.loader.publish([load], async () => true, never)
      const referenceOf = async () => (await warehouse.catalog.findTable('health', 'measured'))?.profile
      expect(await referenceOf()).toEqual({ id, scope: 'TABLE' })
      await loadAll(warehouse, { table: 'measured', columns: shape }, numbered(3))
      expect(await referenceOf()).toBeUndefined()
    })

    it('are removed with their table, and a schema can be dropped only when it is empty', async () => {
      const { warehouse } = subject
      await warehouse.catalog.ensureSchema('Short lived')
      await loadAll(warehouse, { schema: 'Short lived', table: 't', columns: shape }, numbered(1))
      expect(await warehouse.catalog.listSchemas()).toEqual(expect.arrayContaining(['Short lived', 'health']))
      expect(await warehouse.catalog.listRelations(['Short lived'])).toEqual([{ schema: 'Short lived', name: 't' }])
      await expect(warehouse.catalog.dropSchema('Short lived')).rejects.toMatchObject({ code: 'SCHEMA_NOT_EMPTY' })
      await warehouse.catalog.dropTable('Short lived', 't')
      await warehouse.catalog.dropTable('Short lived', 't')
      await warehouse.catalog.dropSchema('Short lived')
      expect(await warehouse.catalog.listSchemas()).not.toContain('Short lived')
      expect(await warehouse.upkeep.pruneLedger(30)).toBe(0)
    })
  })
}
