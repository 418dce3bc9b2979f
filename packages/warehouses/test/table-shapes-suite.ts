import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import type { ShapeRequest, Column } from '../src/warehouse.ts'
import { columns, given, never, stage } from './row-fixtures.ts'
import { word } from './scratch-warehouse.ts'
import { type SuppliedColumn, step, type Step, tell, type Told } from './table-shape-model.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

const sequences = drawCount({ short: 4, long: 200 })
const values: Record<string, string> = { SMALLINT: '7', BIGINT: '5000000000', DATE: '2026-01-31', TEXT: 'x' }

/** Returns a value for a column of the source. */
const valueOf = ({ dataType, evidence }: SuppliedColumn): string | null =>
  evidence === 'NOTHING' ? null : evidence === 'AMBIGUOUS' ? '01/02/2026' : values[dataType]!

/** What every warehouse makes of the shape of a load. */
export function shapesSuite(subject: Given): void {
  const load = async (table: string, isSupplied: readonly SuppliedColumn[], shape: ShapeRequest = {}) => {
    const columns = isSupplied.map((column): Column => ({ ...column, label: column.name }))
    await using staged = await stage(subject.warehouse, { table, columns, shape, run: randomUUID() }, [
      isSupplied.map(valueOf),
    ])
    const { tables } = await subject.warehouse.loader.publish([staged], async () => true, never)
    return tables[0]!
  }
  const columnsOf = async (table: string) => (await subject.warehouse.catalog.findTable('health', table))!.columns
  const small = (...names: string[]): SuppliedColumn[] => names.map((name) => ({ name, dataType: 'SMALLINT' }))

  describe('the shape of a table', () => {
    it('matches the model after every random sequence of loads', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 4 }), async (steps) => {
          const table = word('shape_')
          let told: Told | undefined
          for (const one of steps) {
            const next = tell(told, one)
            const loading = load(table, one.load, requestOf(one))
            if (next) await loading
            else await expect(loading).rejects.toMatchObject({ code: /SCHEMA_MISMATCH|DATES_AMBIGUOUS/ })
            told = next ?? told
            if (!told) continue
            const found = (await columnsOf(table)).map(({ name, dataType, deleted = false }) => [
              name,
              dataType,
              !deleted,
            ])
            const wanted = Object.entries(told.columns).map(([name, { type, isSupplied }]) => [
              name,
              type === '?' || type === '~' ? 'TEXT' : type,
              isSupplied,
            ])
            expect(found.toSorted()).toEqual(wanted.toSorted())
          }
        }),
        { numRuns: sequences },
      )
    })

    it('has the time at which a load created each column', async () => {
      const table = word('shape_')
      const creationTimes = async (...names: string[]) => {
        await load(table, small(...names))
        return (await columnsOf(table)).map(({ created }) => created)
      }
      const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      const [first, second] = await creationTimes('id', 'a')
      expect([first, second]).toEqual([isoTime, isoTime])
      const later = await creationTimes('id', 'a', 'b')
      expect(later).toEqual([first, second, isoTime])
      expect(later[2]! > first!).toBe(true)
    })

    it('has the source formats of the source, unless SQL statements changed the rows', async () => {
      const table = word('shape_')
      const target = {
        schema: 'health',
        table,
        columns: columns({ id: 'INTEGER', day: 'DATE', price: 'DECIMAL(8,2)' }),
      }
      const facts = () => [
        { column: 'id' },
        { column: 'day', sourceFormat: 'DD.MM.YYYY' },
        { column: 'price', sourceFormat: '0,00' },
      ]
      const publish = async (statement?: string) => {
        const { loader } = subject.warehouse
        await using load = await loader.stage({ ...target, run: randomUUID(), attempt: 1 }, never)
        await load.write({ ...given([[1, '2026-01-31', '2.50']]), facts }, never)
        if (statement) await loader.transform([load], [{ statement }], never)
        await loader.publish([load], async () => true, never)
        return (await columnsOf(table)).map(({ sourceFormat }) => sourceFormat)
      }
      expect(await publish()).toEqual([undefined, 'DD.MM.YYYY', '0,00'])
      expect(await publish(`delete from ${table} where id = 0`)).toEqual([undefined, undefined, undefined])
      expect(await publish()).toEqual([undefined, 'DD.MM.YYYY', '0,00'])
    })

    it('stays unchanged if a load has no known column, unless the run rebuilds the table', async () => {
      const table = word('shape_')
      await load(table, small('id', 'name', 'amount'))
      await expect(load(table, small('x', 'y'))).rejects.toMatchObject({
        code: 'SCHEMA_MISMATCH',
        message: expect.stringMatching(/"id", "name", "amount".*"x", "y"/),
      })
      expect(await rowsIn(subject.warehouse, table)).toEqual([[7, 7, 7]])
      await load(table, small('x', 'y'), { rebuild: true })
      expect((await columnsOf(table)).map(({ name }) => name)).toEqual(['x', 'y'])
    })

    it('is replaced once with a warning if the definition of the source changed', async () => {
      const table = word('shape_')
      await load(table, small('id', 'name', 'amount'), { definition: 'one' })
      const { changes } = await load(table, small('x', 'y'), { definition: 'two' })
      expect(changes.filter(({ warning }) => warning).map(({ kind }) => kind)).toEqual(['SHAPE_REPLACED'])
      expect(await rowsIn(subject.warehouse, table)).toEqual([[7, 7]])
      await expect(load(table, small('a', 'b'), { definition: 'two' })).rejects.toMatchObject({
        code: 'SCHEMA_MISMATCH',
      })
    })

    it('takes the type of a column from the first load with values, and keeps it when values are missing', async () => {
      const table = word('shape_')
      const day: SuppliedColumn[] = [
        { name: 'id', dataType: 'SMALLINT' },
        { name: 'd', dataType: 'DATE' },
      ]
      const empty: SuppliedColumn[] = [
        { name: 'id', dataType: 'SMALLINT' },
        { name: 'd', dataType: 'TEXT', evidence: 'NOTHING' },
      ]
      const typesAfter = async (isSupplied: SuppliedColumn[]) => {
        await load(table, isSupplied)
        return (await columnsOf(table)).map(({ dataType }) => dataType).join(' ')
      }
      expect(await typesAfter(empty)).toBe('SMALLINT TEXT')
      expect(await typesAfter(day)).toBe('SMALLINT DATE')
      expect(await typesAfter(empty)).toBe('SMALLINT DATE')
    })

    it('does not include new columns with IGNORE_NEW', async () => {
      const table = word('shape_')
      await load(table, small('id', 'a'), { schemaChanges: 'IGNORE_NEW' })
      await load(table, small('new', 'id', 'a'), { schemaChanges: 'IGNORE_NEW' })
      expect((await columnsOf(table)).map(({ name }) => name)).toEqual(['id', 'a'])
      expect(await rowsIn(subject.warehouse, table)).toEqual([[7, 7]])
    })
  })
}

const requestOf = ({ policy, rebuild, sparse, definition }: Step): ShapeRequest => ({
  schemaChanges: policy,
  rebuild,
  sparse,
  definition,
})
