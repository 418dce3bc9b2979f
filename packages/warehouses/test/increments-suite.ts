import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { drawCount } from '@sluice/testing/random-case-count'
import fc from 'fast-check'
import { columns, never, stage } from './row-fixtures.ts'
import { type Given, rowsIn } from './warehouse-under-test.ts'

const idColumn = columns({ id: 'INTEGER' }).map((column) => ({ ...column, primaryKey: true }))
const partColumns = columns({ _row_id: 'TEXT', _root_row_id: 'INTEGER' }).map((column) => ({
  ...column,
  primaryKey: column.name === '_row_id',
}))
const partsOf = ({ id, parts }: { id: number; parts: number }): [string, number][] =>
  Array.from({ length: parts }, (_, index) => [`${id}/part[${index}]`, id])
const inOrder = (rows: readonly (readonly unknown[])[]): string[] => rows.map((row) => JSON.stringify(row)).toSorted()

/** Any sequence of increments comes to the same rows as one full load, and to the same parts of them. */
export function lawOfIncrements(subject: Given): void {
  it('are the same after random increments as after a full load, including the rows of child tables', async () => {
    const { warehouse } = subject
    const cell = fc.constantFrom(null, 'x', 'y')
    const record = fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      a: cell,
      b: cell,
      parts: fc.integer({ min: 0, max: 2 }),
    })
    const increments = fc.array(fc.uniqueArray(record, { selector: ({ id }) => id, minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 4,
    })
    let round = 0
    await fc.assert(
      fc.asyncProperty(increments, async (history) => {
        round += 1
        const [table, parts] = [`records_${round}`, `records_${round}__parts`]
        const known = new Map<number, { id: number; a: string | null; b: string | null; parts: number }>()
        for (const some of history) {
          const run = randomUUID()
          for (const one of some) known.set(one.id, one)
          // A source brings the columns that some record of the increment has.
          const names = (['a', 'b'] as const).filter((name) => some.some((one) => one[name] !== null))
          const recordColumns = [...idColumn, ...columns(Object.fromEntries(names.map((name) => [name, 'TEXT'])))]
          await using records = await stage(
            warehouse,
            { table, columns: recordColumns, run, shape: { merging: true } },
            some.map((one) => [one.id, ...names.map((name) => one[name])]),
          )
          const parentRecords = { table, keys: ['id'], column: '_root_row_id' }
          await using of = await stage(
            warehouse,
            { table: parts, columns: partColumns, run, parentRecords, shape: { merging: true } },
            some.flatMap(partsOf),
          )
          await warehouse.loader.publish([records, of], async () => true, never, { mode: 'MERGE' })
        }
        const found = await warehouse.queries.readTable('health', table, { limit: 100, offset: 0 })
        const at = (name: string) => found.columns.findIndex((column) => column.name === name)
        const rows = found.rows.map((row) => ['id', 'a', 'b'].map((name) => (at(name) < 0 ? null : row[at(name)])))
        const all = [...known.values()]
        expect(inOrder(rows)).toEqual(inOrder(all.map(({ id, a, b }) => [id, a, b])))
        expect(inOrder(await rowsIn(warehouse, parts))).toEqual(inOrder(all.flatMap(partsOf)))
      }),
      { numRuns: drawCount({ short: 2, long: 60 }) },
    )
  })
}

/** A type of a column that marks deleted rows, with values that mark none, and one that does. */
const marks: [type: string, not: (string | number | null)[], is: string | number][] = [
  ['BOOLEAN', [null, 'false'], 'true'],
  ['SMALLINT', [null, 0], 1],
  ['TIMESTAMP', [null, null], '2026-01-31 12:30:00'],
]

/** Rows that an increment marks as deleted are not in the table, whether or not they were there before. */
export function deletesMarkedRows(subject: Given): void {
  it.each(marks)('delete the rows that a column of type %s marks', async (type, [absent, no], yes) => {
    const { warehouse } = subject
    const table = `marked_${type.toLowerCase()}`
    const shown: string[][] = []
    const publish = async (
      rows: (string | number | null)[][],
      { nameType = 'VARCHAR_50', mode = 'MERGE' as 'MERGE' | 'REPLACE' } = {},
    ) => {
      const run = randomUUID()
      const shape = [...idColumn, ...columns({ name: nameType, gone: type })]
      const target = { table, columns: shape, run, deletedColumn: 'gone', shape: { merging: mode === 'MERGE' } }
      await using load = await stage(warehouse, target, rows)
      return await warehouse.loader.publish([load], async () => true, never, {
        mode,
        async gate(tables, signal) {
          await using preview = await warehouse.loader.exposeStagedRows(tables, { run, attempt: 1 })
          const query = { text: `select id from ${table}`, schemas: [preview.schema], limit: 100, offset: 0 }
          const { rows: ids } = await warehouse.queries.query(query, signal)
          shown.push(inOrder(ids))
        },
      })
    }
    const ids = async () => inOrder((await rowsIn(warehouse, table)).map(([id]) => [id]))
    const first = [1, 2, 3].map((id) => [id, 'x', absent!])
    await publish(first, { mode: 'REPLACE' })
    await publish([
      [2, 'x', yes],
      [3, 'y', no!],
      [4, 'z', absent!],
      [5, 'never seen', yes],
    ])
    expect(await ids()).toEqual(['[1]', '[3]', '[4]'])
    // The wider type makes some warehouses copy all rows.
    const wider = [
      [3, 'x', yes],
      [6, 'x', no!],
      [7, 'x', yes],
    ]
    const { tables } = await publish(wider, { nameType: 'TEXT' })
    expect(tables[0]).toMatchObject({ table })
    expect(await ids()).toEqual(['[1]', '[4]', '[6]'])
    expect((await warehouse.catalog.findTable('health', table))?.rowCount).toBe(3)
    expect(shown.slice(1)).toEqual([
      ['[1]', '[3]', '[4]'],
      ['[1]', '[4]', '[6]'],
    ])
  })
}
