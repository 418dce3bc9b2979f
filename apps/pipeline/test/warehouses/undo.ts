import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { PlannedTable, PlanOptions } from '../../src/engine/warehouses/warehouse.ts'
import { columns, loadAll, never, numbered, stage } from '../rows.ts'
import { type Given, rowsIn } from './subject.ts'

const shape = columns({ id: 'INTEGER', name: 'TEXT' })
const keyed = shape.map((column) => ({ ...column, primaryKey: column.name === 'id' }))

/** What the warehouses do that keep what a load replaces. */
export function undoSuite(subject: Given): void {
  describe('a plan', () => {
    const plan = async (
      table: string,
      given: typeof shape,
      rows: Parameters<typeof stage>[2],
      options: PlanOptions,
    ) => {
      const { warehouse } = subject
      await using load = await stage(warehouse, { table, columns: given, run: randomUUID() }, rows)
      return await warehouse.plan([load], never, options)
    }

    it('says what a publication would change, and changes nothing', async () => {
      const { warehouse } = subject
      await loadAll(warehouse, { table: 'planned', columns: shape }, numbered(3, 'old'))
      const wider = columns({ id: 'BIGINT', more: 'TEXT' })
      const told: PlannedTable[] = []
      const planned: PlanOptions['planned'] = async (tables) => void told.push(...tables)
      const tables = await plan('planned', wider, [['5000000000', 'x']], { planned })
      expect(tables).toMatchObject([{ schema: 'health', table: 'planned', rowsBefore: 3, rowsAfter: 1 }])
      expect(tables[0]!.changes.map(({ kind, column }) => `${kind} ${column}`).toSorted()).toEqual([
        'COLUMN_ADDED more',
        'COLUMN_VANISHED name',
        'TYPE_WIDENED id',
      ])
      expect(told).toEqual(tables)
      expect(await rowsIn(warehouse, 'planned')).toEqual(numbered(3, 'old'))
      expect(await warehouse.findStaging('health', 'planned')).toBeUndefined()
      expect(await plan('unplanned', shape, numbered(2), {})).toEqual([
        { schema: 'health', table: 'unplanned', rowsAfter: 2, changes: [] },
      ])
      expect(await warehouse.findTable('health', 'unplanned')).toBeUndefined()
    })

    it('counts the rows of a merge, and asks the gate and the keys', async () => {
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
      await expect(plan('merging', keyed, increment, { mode: 'MERGE', gate, planned })).rejects.toBe(refused)
      const twice = [
        [2, 'a'],
        [2, 'b'],
      ]
      await expect(plan('merging', keyed, twice, {})).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
      expect((await rowsIn(warehouse, 'merging')).toSorted()).toEqual(numbered(3, 'old'))
    })
  })
}
