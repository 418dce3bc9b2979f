import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { LeaseLost, type PlannedTable, type PlanOptions, type PublishOptions } from '../src/warehouse.ts'
import { columns, given, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'
import { keepsUndoOfUnchangedMerges } from './write-modes-suite.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const keyed = shape.map((column) => ({ ...column, primaryKey: column.name === 'id' }))

/** What the warehouses do that keep what a load replaces. */
export function undoSuite(subject: Given): void {
  describe('a plan of a publication', () => {
    const plan = async (
      table: string,
      target: typeof shape,
      rows: Parameters<typeof stage>[2],
      options: PlanOptions,
    ) => {
      const { warehouse } = subject
      await using load = await stage(warehouse, { table, columns: target, run: randomUUID() }, rows)
      return await warehouse.loader.plan([load], never, options)
    }

    it('returns the changes of a publication without making them', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'planned', columns: shape }, numbered(3, 'old'))
      const wider = columns({ id: 'BIGINT', more: 'TEXT' })
      const told: PlannedTable[] = []
      const planned: PlanOptions['onPlan'] = async (tables) => void told.push(...tables)
      const tables = await plan('planned', wider, [['5000000000', 'x']], { onPlan: planned })
      expect(tables).toMatchObject([{ schema: 'health', table: 'planned', rowsBefore: 3, rowsAfter: 1 }])
      expect(tables[0]!.changes.map(({ kind, column }) => `${kind} ${column}`).toSorted()).toEqual([
        'COLUMN_ADDED more',
        'COLUMN_VANISHED name',
        'TYPE_WIDENED id',
      ])
      expect(told).toEqual(tables)
      expect(await rowsIn(warehouse, 'planned')).toEqual(numbered(3, 'old'))
      expect(await warehouse.catalog.findStagingTable('health', 'planned')).toBeUndefined()
      expect(await plan('unplanned', shape, numbered(2), {})).toEqual([
        { schema: 'health', table: 'unplanned', rowsAfter: 2, changes: [] },
      ])
      expect(await warehouse.catalog.findTable('health', 'unplanned')).toBeUndefined()
    })

    it('does not create a missing schema', async () => {
      const { warehouse } = subject
      await using load = await stage(
        warehouse,
        { schema: 'unmade', table: 'planned', columns: keyed, dry: true },
        numbered(2),
      )
      await warehouse.loader.transform(
        [load],
        [{ statement: 'alter table planned rename column name to title' }],
        never,
        {
          dry: true,
        },
      )
      expect(await warehouse.loader.plan([load], never)).toEqual([
        { schema: 'unmade', table: 'planned', rowsAfter: 2, changes: [] },
      ])
      expect(await warehouse.catalog.listSchemas()).not.toContain('unmade')
    })

    it('counts the rows of a merge, and fails if the gate refuses or keys are duplicates', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'merging', columns: keyed }, numbered(3, 'old'))
      const increment = [
        [2, 'new'],
        [9, 'new'],
      ]
      expect(await plan('merging', keyed, increment, { mode: 'MERGE' })).toEqual([
        { schema: 'health', table: 'merging', rowsBefore: 3, rowsAfter: 4, changes: [] },
      ])
      const refused = new Error('refused')
      let told = 0
      const gate: PlanOptions['gate'] = async () => {
        expect(told).toBe(1)
        throw refused
      }
      const planned = async () => void (told += 1)
      await expect(plan('merging', keyed, increment, { mode: 'MERGE', gate, onPlan: planned })).rejects.toBe(refused)
      const twice = [
        [2, 'a'],
        [2, 'b'],
      ]
      await expect(plan('merging', keyed, twice, {})).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
      expect((await rowsIn(warehouse, 'merging')).toSorted()).toEqual(numbered(3, 'old'))
    })
  })

  describe('restoring the previous tables', () => {
    const published = async (
      table: string,
      target: typeof shape,
      rows: Parameters<typeof stage>[2],
      more: PublishOptions = {},
    ) => {
      const { warehouse } = subject
      const run = randomUUID()
      await using load = await stage(warehouse, { table, columns: target, run }, rows)
      await warehouse.loader.publish([load], async () => true, never, more)
      return run
    }
    const restore = (
      table: string,
      more: { run?: string; attempt?: number } = {},
      isCurrentAttempt = async () => true,
    ) =>
      subject.warehouse.loader.restore(
        { schema: 'health', table, run: randomUUID(), attempt: 1, ...more },
        isCurrentAttempt,
        never,
      )
    const sorted = async (table: string) =>
      (await rowsIn(subject.warehouse, table)).map((row) => JSON.stringify(row)).toSorted()

    it('knows the table that lists the others, also if the load before did not have it', async () => {
      const { warehouse } = subject
      const load = async (names: string[]) => {
        const run = randomUUID()
        const loads = names.map((table) => {
          const listing = table === 'listed' ? {} : { listsTables: true as const }
          return stage(warehouse, { table, columns: shape, run, ...listing }, numbered(2, run))
        })
        await using staged = new AsyncDisposableStack()
        const tables = (await Promise.all(loads)).map((one) => staged.use(one))
        await warehouse.loader.publish(tables, async () => true, never)
      }
      const listing = async (table: string) =>
        (await restore(table)).tables.map((one) => [one.table, one.listsTables === true])
      await load(['listed'])
      await load(['listed', 'listing'])
      const expected = [
        ['listed', false],
        ['listing', true],
      ]
      expect(await listing('listed')).toEqual(expected)
      expect(await listing('listed')).toEqual(expected)
    })

    it('publishes the rows that the last load replaced once per run, and another restore reverses it', async () => {
      const { warehouse } = subject
      await expect(restore('undone')).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' })
      const first = await published('undone', shape, numbered(3, 'old'))
      expect(await warehouse.loader.findPrevious('health', 'undone')).toBeUndefined()
      await expect(restore('undone')).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' })
      await published('undone', shape, numbered(2, 'new'))
      const { publishedAt } = (await warehouse.loader.findPublication(first))!
      expect(await warehouse.loader.findPrevious('health', 'undone')).toMatchObject({ publishedAt })
      const run = randomUUID()
      const answer = await restore('undone', { run })
      expect(answer).toMatchObject({ run, attempt: 1, rows: 3, tables: [{ table: 'undone', rows: 3, changes: [] }] })
      const old = [...numbered(3, 'old')].map((row) => JSON.stringify(row))
      expect(await sorted('undone')).toEqual(old)
      expect(await restore('undone', { run, attempt: 2 })).toEqual(answer)
      expect(await warehouse.loader.findPublication(run)).toEqual(answer)
      expect(await sorted('undone')).toEqual(old)
      await restore('undone')
      expect(await sorted('undone')).toEqual([...numbered(2, 'new')].map((row) => JSON.stringify(row)))
      await restore('undone')
      // Only the last publication is kept.
      await published('undone', shape, numbered(4, 'newest'))
      await restore('undone')
      expect(await sorted('undone')).toEqual(old)
    })

    it('hides the previous table until it is restored, and fails if the lease is lost', async () => {
      const { warehouse } = subject
      await published('hidden', shape, numbered(2, 'old'))
      await published('hidden', shape, numbered(1, 'new'))
      await expect(restore('hidden', {}, async () => false)).rejects.toBeInstanceOf(LeaseLost)
      expect(await warehouse.upkeep.sweepStaging(async () => new Set())).toBe(0)
      expect(await warehouse.catalog.findStagingTable('health', 'hidden')).toBeUndefined()
      expect(
        (await warehouse.catalog.listRelations(['health'])).filter(({ name }) => name.includes('hidden')),
      ).toHaveLength(1)
      expect(await warehouse.catalog.listSchemas()).toEqual(expect.not.arrayContaining([expect.stringMatching(/kept/)]))
      await restore('hidden')
      expect(await rowsIn(warehouse, 'hidden')).toHaveLength(2)
    })

    it('restores columns, types, the profile, cursor and the state of the sourceShape', async () => {
      const { warehouse } = subject
      const target = { schema: 'health', table: 'shaped', columns: shape, run: randomUUID(), attempt: 1 }
      await using load = await warehouse.loader.stage(target, never)
      await load.write({ ...given(numbered(2, 'old')), reading: () => ({ sign: ',' }) }, never)
      load.profile = randomUUID()
      await warehouse.loader.publish([load], async () => true, never, { cursors: { shaped: { seen: 1 } } })
      const before = await warehouse.catalog.findTable('health', 'shaped')
      const { sourceShape } = await warehouse.loader.findLastLoad('health', 'shaped')
      const other = columns({ id: 'BIGINT', more: 'DATE' })
      const rebuild = { schemaChanges: 'REPLACE' as const }
      const run = randomUUID()
      await using next = await stage(warehouse, { table: 'shaped', columns: other, run, shape: rebuild }, [
        ['5000000000', '2026-01-01'],
      ])
      await warehouse.loader.publish([next], async () => true, never, { cursors: { shaped: { seen: 2 } } })
      const { tables } = await restore('shaped')
      expect(tables[0]!.changes.map(({ kind, column }) => `${kind} ${column}`).toSorted()).toEqual([
        'COLUMN_ADDED name',
        'COLUMN_DROPPED more',
        'TYPE_CHANGED id',
      ])
      expect(await rowsIn(warehouse, 'shaped')).toEqual([...numbered(2, 'old')])
      const after = (await warehouse.catalog.findTable('health', 'shaped'))!
      expect([after.columns, after.profile]).toEqual([before!.columns, { id: load.profile, scope: 'TABLE' }])
      expect(await warehouse.loader.findLastLoad('health', 'shaped')).toEqual({ sourceShape, cursor: { seen: 1 } })
    })

    it('keeps views valid, including views over columns that were added later', async () => {
      const { warehouse } = subject
      await published('viewed', shape, numbered(2, 'old'))
      await published('viewed', columns({ id: 'BIGINT', name: 'TEXT', more: 'TEXT' }), [['5000000000', 'new', 'x']])
      const view = { id: randomUUID(), schema: 'health', name: 'over_viewed', materialized: false }
      await warehouse.views.define({ ...view, query: 'select id, name, more from viewed' }, { seconds: 20 }, never)
      await restore('viewed')
      const inOrder = async (name: string) => {
        const { rows } = await warehouse.queries.query({
          text: `select id, name from ${name} order by id`,
          schemas: ['health'],
        })
        return rows.map(([id, value]) => [Number(id), value])
      }
      expect(await inOrder('over_viewed')).toEqual([...numbered(2, 'old')])
      expect(await inOrder('viewed')).toEqual([...numbered(2, 'old')])
      const { columns: after } = (await warehouse.catalog.findTable('health', 'viewed'))!
      expect(after.map(({ name, deleted = false }) => [name, deleted])).toEqual([
        ['id', false],
        ['name', false],
        ['more', true],
      ])
      // The next load is compared with what is there now.
      await published('viewed', shape, numbered(3, 'next'))
      expect(await inOrder('over_viewed')).toEqual([...numbered(3, 'next')])
      await warehouse.views.drop('health', 'over_viewed')
    })

    it('restores all tables that were published together', async () => {
      const { warehouse } = subject
      const both = async (rows: number, ...tables: string[]) => {
        await using stack = new AsyncDisposableStack()
        const run = randomUUID()
        const loads = []
        for (const table of tables)
          loads.push(stack.use(await stage(warehouse, { table, columns: shape, run }, numbered(rows, `r${rows}`))))
        await warehouse.loader.publish(loads, async () => true, never)
      }
      const counts = async () => [
        (await rowsIn(warehouse, 'own')).length,
        (await rowsIn(warehouse, 'own__part')).length,
      ]
      await both(1, 'own')
      await both(2, 'own', 'own__part')
      await both(3, 'own', 'own__part')
      await restore('own')
      expect(await counts()).toEqual([2, 2])
      await both(4, 'own')
      await restore('own')
      expect(await counts()).toEqual([2, 2])
      await warehouse.catalog.dropTable('health', 'own__part')
      await both(5, 'own', 'own__part')
      // The table did not exist before, so it has no rows.
      await restore('own')
      expect(await counts()).toEqual([2, 0])
      await restore('own')
      expect(await counts()).toEqual([5, 5])
      await restore('own')
      await both(6, 'own', 'own__part')
      expect(await counts()).toEqual([6, 6])
    })

    it('leaves a cursor from which the next increment completes the table, after random publications', async () => {
      const { warehouse } = subject
      const step = fc.record({
        id: fc.integer({ min: 1, max: 3 }),
        next: fc.constantFrom('FULL', 'INCREMENT', 'INCREMENT', 'RESTORE', 'NOTHING'),
      })
      let round = 0
      const history = async (steps: readonly { id: number; next: string }[]) => {
        round += 1
        const table = `history_${round}`
        // When each record was changed last, which is also its value.
        const source = new Map<number, number>()
        let clock = 0
        const load = async (mode: 'REPLACE' | 'MERGE') => {
          const { seen = 0 } = ((await warehouse.loader.findLastLoad('health', table)).cursor ?? {}) as {
            seen?: number
          }
          const rows = [...source].filter(([, changed]) => mode === 'REPLACE' || changed > seen)
          const options: PublishOptions = { mode, cursors: { [table]: { seen: clock } } }
          await published(
            table,
            keyed,
            rows.map(([id, changed]) => [id, String(changed)]),
            options,
          )
        }
        for (const { id, next } of [...steps, { id: 1, next: 'INCREMENT' }]) {
          clock += 1
          source.set(id, clock)
          if (next === 'FULL') await load('REPLACE')
          if (next === 'INCREMENT') await load('MERGE')
          if (next === 'RESTORE')
            await restore(table).catch((error: { code?: string }) => expect(error.code).toBe('NOTHING_TO_RESTORE'))
        }
        const expected = [...source].map(([id, changed]) => JSON.stringify([id, String(changed)]))
        expect(await sorted(table)).toEqual(expected.toSorted())
      }
      await history([
        { id: 1, next: 'FULL' },
        { id: 2, next: 'INCREMENT' },
        { id: 3, next: 'FULL' },
        { id: 2, next: 'INCREMENT' },
        { id: 2, next: 'RESTORE' },
      ])
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 7 }), (steps) => history(steps)),
        { numRuns: drawCount({ short: 3, long: 200 }) },
      )
    })

    keepsUndoOfUnchangedMerges(subject)

    it('fails with NOTHING_TO_RESTORE after the table was dropped', async () => {
      const { warehouse } = subject
      await published('dropped', shape, numbered(1))
      await published('dropped', shape, numbered(2))
      expect(await warehouse.upkeep.dropExpiredTables()).toBe(0)
      await warehouse.catalog.dropTable('health', 'dropped')
      expect(await warehouse.loader.findPrevious('health', 'dropped')).toBeUndefined()
      await published('dropped', shape, numbered(3))
      await expect(restore('dropped')).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' })
      expect(await rowsIn(warehouse, 'dropped')).toHaveLength(3)
    })
  })
}
