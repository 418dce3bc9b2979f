import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { columns, never, numbered, stage } from '../../../../test/rows.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../../test/scratch-warehouse.ts'
import { LostRun } from '../../lost-run.ts'
import type { TargetColumn } from '../warehouse.ts'

const keyed = (types: Record<string, string>, keys = ['id']): TargetColumn[] =>
  columns(types).map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
const two = keyed({ id: 'INTEGER', name: 'TEXT' })

describe('merging increments', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(() => {
    table = word('cases_')
  })

  type Rows = Parameters<typeof stage>[2]
  async function publish(
    rows: Rows,
    more: {
      shape?: TargetColumn[]
      run?: string
      attempt?: number
      mode?: 'REPLACE' | 'MERGE'
      cursor?: unknown
      ours?: boolean
      signal?: AbortSignal
    } = {},
  ) {
    const { shape = two, run = word('run'), attempt = 1, mode = 'MERGE', cursor, ours = true, signal = never } = more
    await using load = await stage(scratch.warehouse, { table, columns: shape, run, attempt }, rows)
    const options = { mode, ...(cursor !== undefined && { cursors: { [table]: cursor } }) }
    return await scratch.warehouse.publish([load], async () => ours, signal, options)
  }
  const rowsOf = async () =>
    (await scratch.warehouse.readTable('health', table, { limit: 1000, offset: 0 })).rows.toSorted((a, b) =>
      JSON.stringify(a).localeCompare(JSON.stringify(b)),
    )
  const found = () => scratch.warehouse.findTable('health', table)
  const partition = async () =>
    (
      await scratch.superuser.query(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'health.${table}'::regclass`,
      )
    ).rows
  const leftovers = async () =>
    (
      await scratch.superuser.query(
        `select from pg_class where relnamespace = 'sluice'::regnamespace and relname like 'run\\_%' and relkind = 'r' and not relispartition`,
      )
    ).rowCount

  it('makes the table the first time, then changes and adds rows where they are', async () => {
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
    expect([await partition(), (await found())?.rowCount, await leftovers()]).toEqual([before, 3, 0])
    expect((await publish([])).rows).toBe(0)
    expect((await found())?.rowCount).toBe(3)
  })

  it('touches no row that is the same already', async () => {
    await publish(numbered(5))
    const versions = async () =>
      (await scratch.superuser.query(`select xmin::text, ctid::text from health.${table} order by id`)).rows
    const before = await versions()
    await publish(numbered(5))
    expect(await versions()).toEqual(before)
  })

  it('keeps where the source goes on in the same transaction, or not at all', async () => {
    expect(await scratch.warehouse.findCursor('health', table)).toBeUndefined()
    await publish([[1, 'a']], { cursor: { updated: '2026-01-01' } })
    expect(await scratch.warehouse.findCursor('health', table)).toEqual({ updated: '2026-01-01' })
    await expect(publish([[2, 'b']], { cursor: { updated: '2026-02-02' }, ours: false })).rejects.toBeInstanceOf(
      LostRun,
    )
    expect([await scratch.warehouse.findCursor('health', table), await rowsOf()]).toEqual([
      { updated: '2026-01-01' },
      [[1, 'a']],
    ])
    await publish([[2, 'b']], { cursor: 7 })
    expect(await scratch.warehouse.findCursor('health', table)).toBe(7)
    await publish([[3, 'c']], { mode: 'REPLACE' })
    expect([await scratch.warehouse.findCursor('health', table), await rowsOf()]).toEqual([undefined, [[3, 'c']]])
  })

  it('merges a run once, however often it is tried', async () => {
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
      'the key as text',
      { id: 'TEXT', name: 'TEXT' },
      [['2', 'B']],
      [
        ['1', 'a', 7],
        ['2', 'B', 8],
      ],
    ],
    [
      'a new column',
      { id: 'INTEGER', more: 'INTEGER' },
      [[2, 9]],
      [
        [1, 'a', 7, null],
        [2, 'b', 8, 9],
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
        [2, 'B', 8],
        [3, 'c', null],
      ],
    ],
  ] as const)('takes %s, and keeps what an increment does not bring', async (_, types, rows, expected) => {
    await publish(
      [
        [1, 'a', 7],
        [2, 'b', 8],
      ],
      { shape: keyed({ id: 'INTEGER', name: 'TEXT', amount: 'INTEGER' }), mode: 'REPLACE' },
    )
    await publish(rows, { shape: keyed(types), cursor: 1 })
    expect(await rowsOf()).toEqual(expected)
    expect([(await found())?.rowCount, await leftovers()]).toEqual([expected.length, 0])
    expect((await found())?.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)).toEqual(['id'])
    await publish(rows, { shape: keyed(types), cursor: 2 })
    expect(await rowsOf()).toEqual(expected)
    expect(await scratch.warehouse.findCursor('health', table)).toBe(2)
  })

  it('merges by several columns, and by a key that the table had not', async () => {
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

  it('says that it needs a key', async () => {
    await expect(publish(numbered(1), { shape: columns({ id: 'INTEGER', name: 'TEXT' }) })).rejects.toMatchObject({
      code: 'NO_PRIMARY_KEY',
      retryable: false,
      message: expect.stringContaining('Mark the columns that identify a row'),
    })
    await publish([['a']], { shape: columns({ name: 'TEXT' }), mode: 'REPLACE' })
    await expect(publish(numbered(1))).rejects.toMatchObject({ code: 'NO_PRIMARY_KEY' })
    expect(await leftovers()).toBe(0)
  })

  it('can be cancelled in the middle, and leaves the old rows', async () => {
    await publish(numbered(3, 'old'))
    const [live] = await partition()
    await scratch.superuser.query(`
      create function sluice.dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(600); return new; end';
      create trigger dawdle before update on ${live!.name}
        for each row execute function sluice.dawdle()`)
    const merging = async () =>
      (
        await scratch.superuser.query(
          `select from pg_stat_activity where usename = $1 and state = 'active' and query like '%update%came%'`,
          [scratch.access.load.user],
        )
      ).rowCount
    const cancel = new AbortController()
    const run = word('run')
    const publishing = publish(numbered(3, 'new'), { run, signal: cancel.signal })
    const refused = expect(publishing).rejects.toThrow('by hand')
    while (!(await merging())) await sleep(20)
    const start = performance.now()
    cancel.abort(new Error('by hand'))
    await refused
    while (await merging()) await sleep(20)
    expect(performance.now() - start).toBeLessThan(10_000)
    expect([await scratch.warehouse.findPublication(run), await rowsOf(), await leftovers()]).toEqual([
      undefined,
      [...numbered(3, 'old')],
      0,
    ])
    await scratch.superuser.query('drop function sluice.dawdle() cascade')
    await publish(numbered(3, 'new'), { run, attempt: 2 })
    expect(await rowsOf()).toEqual([...numbered(3, 'new')])
  }, 20_000)

  it('hears an abort that comes once the swap has begun when it is over', async () => {
    await publish(numbered(3, 'old'))
    await using reader = await connectedAs(scratch.access, 'read')
    const cancel = new AbortController()
    await reader.query(`begin; select from health.${table}`)
    const publishing = publish(numbered(2, 'new'), { mode: 'REPLACE', signal: cancel.signal })
    const swapping = async () =>
      (
        await scratch.superuser.query(
          `select from pg_stat_activity where usename = $1 and wait_event_type = 'Lock' and query like '%detach%'
             and clock_timestamp() - query_start < interval '50 ms'`,
          [scratch.access.load.user],
        )
      ).rowCount
    // By then it waits for half a second and more, of which enough is left.
    await sleep(1_000)
    while (!(await swapping())) await sleep(1)
    cancel.abort(new Error('by hand'))
    await reader.query('rollback')
    expect((await publishing).rows).toBe(2)
    expect(await rowsOf()).toEqual([...numbered(2, 'new')])
  })

  it('shows readers all of an increment or nothing of it, even where the shape changes', async () => {
    await publish(numbered(2_000, 0))
    const seen = new Set<string>()
    const reading = { on: true }
    const readers = [1, 2].map(async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      while (reading.on) {
        const { rows } = await reader.query(
          `select count(*)::int as n, min(name) as a, max(name) as b from health.${table}`,
        )
        seen.add(`${rows[0].n} ${rows[0].a} ${rows[0].b}`)
      }
    })
    const expected = ['2000 0 0']
    for (let round = 1; round <= 8; round += 1) {
      await publish(numbered(2_000 + round, round), {
        shape: keyed({ id: round > 4 ? 'BIGINT' : 'INTEGER', name: 'TEXT' }),
      })
      expected.push(`${2_000 + round} ${round} ${round}`)
    }
    reading.on = false
    await Promise.all(readers)
    expect([...seen].filter((one) => !expected.includes(one))).toEqual([])
    expect(await leftovers()).toBe(0)
  }, 30_000)

  it('lets increments into one table one after the other', async () => {
    await publish(numbered(10, 'old'))
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        [1, 2, 3].map((writer) =>
          publish(Array.from({ length: 20 }, (_, row) => [writer * 1000 + round * 100 + row, `by ${writer}`])),
        ),
      )
    expect([(await found())?.rowCount, (await rowsOf()).length, await leftovers()]).toEqual([310, 310, 0])
  })

  it('keeps of many increments the last in the ledger', async () => {
    const runs: string[] = []
    for (let round = 1; round <= 4; round += 1) runs.push((await publish([[round, 'x']], { cursor: round })).run)
    await scratch.superuser.query(
      `update sluice.ledger set published_at = published_at - interval '40 days' where run = any($1)`,
      [runs],
    )
    expect(await scratch.warehouse.pruneLedger(30)).toBe(3)
    expect([await scratch.warehouse.findCursor('health', table), (await found())?.rowCount]).toEqual([4, 4])
  })
})
