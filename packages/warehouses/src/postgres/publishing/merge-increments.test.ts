import { describe, expect, it } from '@jest/globals'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { keyed, mergedForEach } from '../../../test/merged-table-fixtures.ts'
import { columns, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { word } from '../../../test/scratch-warehouse.ts'
import { LeaseLost } from '../../warehouse.ts'

describe('merging increments in PostgreSQL', () => {
  const cases = mergedForEach()
  const { scratch, publish, rowsOf, found, partition } = cases

  it('creates the table with the first increment, then updates and inserts rows in place', async () => {
    await publish([
      [1, 'a'],
      [2, 'b'],
    ])
    const before = await partition()
    const { tables } = await publish([
      [2, 'B'],
      [3, 'c'],
    ])
    expect(tables).toMatchObject([{ rows: 2, changes: [] }])
    expect(await rowsOf()).toEqual([
      [1, 'a'],
      [2, 'B'],
      [3, 'c'],
    ])
    expect([await partition(), (await found())?.rowCount, await leftovers(scratch.superuser)]).toEqual([before, 3, []])
    expect((await publish([])).rows).toBe(0)
    expect((await found())?.rowCount).toBe(3)
  })

  it('does not rewrite rows that are unchanged', async () => {
    await publish(numbered(5))
    const versions = async () =>
      (await scratch.superuser.query(`select xmin::text, ctid::text from health.${cases.table} order by id`)).rows
    const before = await versions()
    await publish(numbered(5))
    expect(await versions()).toEqual(before)
  })

  it('stores the cursor with the rows only if the publication succeeds, and clears it on a replacement', async () => {
    expect((await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor).toBeUndefined()
    await publish([[1, 'a']], { cursor: { updated: '2026-01-01' } })
    expect((await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor).toEqual({
      updated: '2026-01-01',
    })
    await expect(publish([[2, 'b']], { cursor: { updated: '2026-02-02' }, ours: false })).rejects.toBeInstanceOf(
      LeaseLost,
    )
    expect([(await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor, await rowsOf()]).toEqual([
      { updated: '2026-01-01' },
      [[1, 'a']],
    ])
    await publish([[2, 'b']], { cursor: 7 })
    expect((await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor).toBe(7)
    await publish([[3, 'c']], { mode: 'REPLACE' })
    expect([(await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor, await rowsOf()]).toEqual([
      undefined,
      [[3, 'c']],
    ])
  })

  it('merges a run once if it is published twice', async () => {
    const run = word('run')
    const first = await publish([[1, 'a']], { run })
    expect(await publish([[1, 'other']], { run, attempt: 2 })).toEqual(first)
    expect(await rowsOf()).toEqual([[1, 'a']])
  })

  it.each([
    [
      'a wider type',
      { id: 'BIGINT', name: 'TEXT' },
      [['5000000000', 'x']],
      [
        ['1', 'a', 7],
        ['2', 'b', 8],
        ['5000000000', 'x', null],
      ],
    ],
    [
      'a key that widens to text',
      { id: 'TEXT', name: 'TEXT' },
      [['2', 'B']],
      [
        ['1', 'a', 7],
        ['2', 'B', null],
      ],
    ],
    [
      'a new column',
      { id: 'INTEGER', more: 'INTEGER' },
      [[2, 9]],
      [
        [1, 'a', 7, null],
        [2, null, null, 9],
      ],
    ],
    [
      'fewer columns',
      { id: 'INTEGER', name: 'TEXT' },
      [
        [2, 'B'],
        [3, 'c'],
      ],
      [
        [1, 'a', 7],
        [2, 'B', null],
        [3, 'c', null],
      ],
    ],
  ] as const)('merges %s, and sets columns that the increment lacks to null', async (_, types, rows, expected) => {
    await publish(
      [
        [1, 'a', 7],
        [2, 'b', 8],
      ],
      { shape: keyed({ id: 'INTEGER', name: 'TEXT', amount: 'INTEGER' }), mode: 'REPLACE' },
    )
    await publish(rows, { shape: keyed(types), cursor: 1 })
    expect(await rowsOf()).toEqual(expected)
    expect([(await found())?.rowCount, await leftovers(scratch.superuser)]).toEqual([expected.length, []])
    expect((await found())?.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)).toEqual(['id'])
    await publish(rows, { shape: keyed(types), cursor: 2 })
    expect(await rowsOf()).toEqual(expected)
    expect((await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor).toBe(2)
  })

  it('keeps columns that only a transformation filled, and does not report them as vanished', async () => {
    const table = () => cases.table
    const filled = async (rows: [number, string][], statements: string[], mode: 'REPLACE' | 'MERGE') => {
      await using load = await stage(
        scratch.warehouse,
        { table: table(), columns: keyed({ id: 'INTEGER', name: 'TEXT' }) },
        rows,
      )
      const transformation = statements.map((statement) => ({ statement }))
      await scratch.warehouse.loader.transform([load], transformation, never)
      return await scratch.warehouse.loader.publish([load], async () => true, never, { mode })
    }
    await filled(
      [
        [1, 'a'],
        [2, 'b'],
      ],
      [`alter table ${table()} add column if not exists made text`, `update ${table()} set made = 'made ' || name`],
      'REPLACE',
    )
    const { tables } = await publish([[2], [3]], { shape: keyed({ id: 'INTEGER' }) })
    expect(tables[0]!.changes).toEqual([])
    expect(await rowsOf()).toEqual([
      [1, 'a', 'made a'],
      [2, null, 'made b'],
      [3, null, null],
    ])
  })

  it('clears a column that the source no longer has when a transformation fills another column', async () => {
    const filled = async (types: Record<string, string>, rows: (string | number)[][], mode: 'REPLACE' | 'MERGE') => {
      const { table } = cases
      const target = { table, columns: keyed(types), shape: { merging: mode === 'MERGE' } }
      await using load = await stage(scratch.warehouse, target, rows)
      const statement = `alter table ${table} add column made text default 'made'`
      await scratch.warehouse.loader.transform([load], [{ statement }], never)
      return await scratch.warehouse.loader.publish([load], async () => true, never, { mode })
    }
    const rows = [
      [1, 'a'],
      [2, 'b'],
    ]
    await filled({ id: 'INTEGER', name: 'TEXT' }, rows, 'REPLACE')
    const before = await partition()
    const { tables } = await filled({ id: 'INTEGER' }, [[2], [3]], 'MERGE')
    expect(tables[0]!.changes).toEqual([])
    expect(await partition()).toEqual(before)
    expect(await rowsOf()).toEqual([
      [1, 'a', 'made'],
      [2, null, 'made'],
      [3, null, 'made'],
    ])
  })

  it('merges by a key of several columns, also if the table had no primary key', async () => {
    const shape = keyed({ area: 'TEXT', year: 'INTEGER', value: 'DOUBLE' }, ['area', 'year'])
    await publish(
      [
        ['x', 2025, 1],
        ['x', 2026, 2],
      ],
      { shape: shape.map((column) => ({ ...column, primaryKey: false })), mode: 'REPLACE' },
    )
    await publish(
      [
        ['x', 2026, 3],
        ['y', 2026, 4],
      ],
      { shape },
    )
    expect(await rowsOf()).toEqual([
      ['x', 2025, 1],
      ['x', 2026, 3],
      ['y', 2026, 4],
    ])
    await expect(
      publish(
        [
          ['x', 2026, 5],
          ['x', 2026, 6],
        ],
        { shape },
      ),
    ).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })

  it('fails with NO_PRIMARY_KEY if the increment or the table has no key column', async () => {
    await expect(publish(numbered(1), { shape: columns({ id: 'INTEGER', name: 'TEXT' }) })).rejects.toMatchObject({
      code: 'NO_PRIMARY_KEY',
      retryable: false,
      message: expect.stringContaining('Set mergeKey to the columns that identify a row'),
    })
    await publish([['a']], { shape: columns({ name: 'TEXT' }), mode: 'REPLACE' })
    await expect(publish(numbered(1))).rejects.toMatchObject({ code: 'NO_PRIMARY_KEY' })
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('pruneLedger keeps only the last of several old increments', async () => {
    const runs: string[] = []
    for (let round = 1; round <= 4; round += 1) runs.push((await publish([[round, 'x']], { cursor: round })).run)
    await scratch.superuser.query(
      `update sluice.ledger set published_at = published_at - interval '40 days' where run = any($1)`,
      [runs],
    )
    expect(await scratch.warehouse.upkeep.pruneLedger(30)).toBe(3)
    expect([
      (await scratch.warehouse.loader.findLastLoad('health', cases.table)).cursor,
      (await found())?.rowCount,
    ]).toEqual([4, 4])
  })
})
