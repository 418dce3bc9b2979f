import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { ViewDefinition } from '../src/view-store.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })

/** What every warehouse does with views. */
export function viewsSuite(subject: Given): void {
  const define = (view: Partial<ViewDefinition> & Pick<ViewDefinition, 'name' | 'query'>, empty = false) =>
    subject.warehouse.views.define(
      { id: randomUUID(), schema: 'health', materialized: false, ...view },
      { seconds: 20, empty },
      never,
    )

  describe('a view', () => {
    it('returns the current rows of its tables after a load that widens a type', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'base', columns: shape }, numbered(3))
      const id = randomUUID()
      const made = await define({ id, name: 'over', query: 'select id, name from base where id > 1 order by id;' })
      expect(made.reads).toEqual([{ schema: 'health', name: 'base' }])
      expect(await rowsIn(warehouse, 'over')).toEqual([
        [2, 'x'],
        [3, 'x'],
      ])
      await define({ name: 'above_over', query: 'select * from over' })
      const wider = columns({ id: 'BIGINT', name: 'TEXT', more: 'TEXT' })
      await loadAll(warehouse, { table: 'base', columns: wider }, [['5000000000', 'wide', 'more']])
      expect(await rowsIn(warehouse, 'over')).toEqual([['5000000000', 'wide']])
      expect(await rowsIn(warehouse, 'above_over')).toEqual([['5000000000', 'wide']])
      expect(await warehouse.views.find('health', 'over')).toMatchObject({
        materialized: false,
        populated: true,
        managed: { id },
      })
      expect(await warehouse.views.isManaged(id)).toBe(true)
      expect(await warehouse.views.listReads('health', 'over')).toEqual([{ schema: 'health', name: 'base' }])
    })

    it('is recreated when all its tables change types in one run', async () => {
      const { warehouse } = subject
      const [run, tables] = [randomUUID(), ['both_a', 'both_b']]
      for (const table of tables) await loadAll(warehouse, { table, columns: columns({ x: 'DATE' }) }, [['2026-01-02']])
      const query = 'select x from both_a union all select x from both_b'
      await define({ name: 'both', query })
      await using stack = new AsyncDisposableStack()
      const loads = []
      for (const table of tables)
        loads.push(stack.use(await stage(warehouse, { table, columns: columns({ x: 'TEXT' }), run }, [['some']])))
      await warehouse.loader.publish(loads, async () => true, never)
      expect(await rowsIn(warehouse, 'both')).toEqual([['some'], ['some']])
    })

    it('can be changed and renamed by its id, and another view cannot take a name in use', async () => {
      const { warehouse } = subject
      const id = randomUUID()
      await define({ id, name: 'first', query: 'select 1 as one' })
      await define({ id, name: 'second', query: 'select 2 as two' })
      expect(await warehouse.views.find('health', 'first')).toBeUndefined()
      expect((await warehouse.views.find('health', 'second'))?.columns.map(({ name }) => name)).toEqual(['two'])
      await expect(define({ name: 'second', query: 'select 3 as three' })).rejects.toMatchObject({
        code: 'VIEW_NAME_TAKEN',
      })
      await expect(define({ name: 'base', query: 'select 3 as three' })).rejects.toMatchObject({
        code: 'VIEW_NAME_TAKEN',
      })
    })

    it('is rejected and stays unchanged if its new query is invalid or reads the view itself', async () => {
      const { warehouse } = subject
      const id = randomUUID()
      await define({ id, name: 'sound', query: 'select id from base' })
      await expect(define({ id, name: 'sound', query: 'select nothing_like_it from base' })).rejects.toMatchObject({
        code: 'QUERY_FAILED',
      })
      await define({ name: 'above', query: 'select id from sound' })
      await expect(define({ id, name: 'sound', query: 'select id from above' })).rejects.toMatchObject({
        code: 'VIEW_READS_ITSELF',
      })
      expect(await rowsIn(warehouse, 'sound')).toEqual([['5000000000']])
      await expect(warehouse.views.drop('health', 'sound')).rejects.toMatchObject({ code: 'VIEWS_DEPEND' })
      await expect(warehouse.catalog.dropTable('health', 'base')).rejects.toMatchObject({ code: 'VIEWS_DEPEND' })
    })

    it('keeps its rows until a refresh if it is materialised', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'counted', columns: shape }, numbered(3))
      const view = { id: randomUUID(), name: 'kept', query: 'select count(*) as n from counted', materialized: true }
      await define(view, true)
      expect(await warehouse.views.find('health', 'kept')).toMatchObject({ materialized: true, populated: false })
      expect(await warehouse.views.refresh('health', 'kept', never)).toMatchObject({ rows: 1 })
      const counted = async () => (await rowsIn(warehouse, 'kept')).map(([n]) => Number(n))
      expect(await counted()).toEqual([3])
      await loadAll(warehouse, { table: 'counted', columns: shape }, numbered(5))
      expect(await counted()).toEqual([3])
      await warehouse.views.refresh('health', 'kept', never)
      expect(await counted()).toEqual([5])
      expect(await warehouse.views.find('health', 'kept')).toMatchObject({ populated: true, managed: { id: view.id } })
      await warehouse.views.drop('health', 'kept')
      await warehouse.views.drop('health', 'kept')
      expect(await warehouse.views.find('health', 'kept')).toBeUndefined()
      await expect(warehouse.views.refresh('health', 'kept', never)).rejects.toMatchObject({ code: 'VIEW_MISSING' })
    })
  })
}
