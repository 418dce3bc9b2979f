import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { longestWait } from '../../../../test/longest-wait.ts'
import { columns, loadAll, never, numbered, stage } from '../../../../test/rows.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../../test/scratch-warehouse.ts'
import { binary, numberedTuples } from '../../../../test/tuples.ts'
import { LostRun } from '../../lost-run.ts'
import { openPostgresWarehouse } from './postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('publishing', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(() => {
    table = word('cases_')
  })

  const load = (rows: Parameters<typeof loadAll>[2], shape = two) =>
    loadAll(scratch.warehouse, { table, columns: shape }, rows)
  const rowsOf = async () => (await scratch.warehouse.readTable('health', table, { limit: 100, offset: 0 })).rows
  const typesOf = async () =>
    Object.fromEntries(
      (await scratch.warehouse.findTable('health', table))!.columns.map(({ name, dataType }) => [name, dataType]),
    )
  const leftovers = async () =>
    (
      await scratch.superuser.query(
        `select from pg_class where relnamespace = 'sluice'::regnamespace and relname like 'run\\_%' and relkind = 'r' and not relispartition`,
      )
    ).rowCount

  it('forgets what was published long ago, but not what a table holds', async () => {
    const publications = [await load(numbered(1)), await load(numbered(2)), await load(numbered(3))]
    const { run: recent } = publications[1]!
    await scratch.superuser.query(
      `update sluice.ledger set published_at = now() - interval '40 days' where run = any($1)`,
      [publications.filter(({ run }) => run !== recent).map(({ run }) => run)],
    )
    expect(await scratch.warehouse.pruneLedger(30)).toBe(1)
    const found = await Promise.all(publications.map(({ run }) => scratch.warehouse.findPublication(run)))
    expect(found.map((one) => one?.rows)).toEqual([undefined, 2, 3])
    expect(await scratch.warehouse.pruneLedger(-1000)).toBe(0)
    await using read = await connectedAs(scratch.access, 'read')
    await expect(read.query('select sluice.prune_ledger(1)')).rejects.toMatchObject({ code: '42501' })
  })

  it('does not wait for other loads, as many as it was opened for', async () => {
    const end = new AbortController()
    await using warehouse = openPostgresWarehouse(scratch.access, { loads: 8 })
    async function* endless() {
      yield* numberedTuples(1)
      await new Promise(() => {})
    }
    const stuck = Array.from({ length: 7 }, async () => {
      await using one = await warehouse.beginLoad(
        { schema: 'health', table: word('stuck_'), columns: two, run: word(), attempt: 1 },
        never,
      )
      await one.write(binary(endless), end.signal)
    })
    await sleep(300)
    expect((await loadAll(warehouse, { table, columns: two }, numbered(2))).rows).toBe(2)
    end.abort(new Error('enough'))
    expect((await Promise.allSettled(stuck)).map(({ status }) => status)).toEqual(stuck.map(() => 'rejected'))
  })

  it('shows readers the old rows or the new, never a gap and never a half', async () => {
    const sizes = [5_000, 20_000, 1, 12_345]
    await load(numbered(sizes[0]!, 0))
    const seen = new Set<string>()
    const reading = { on: true }
    let reads = 0
    const readers = [1, 2].map(async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      while (reading.on) {
        const { rows } = await reader.query(
          `select count(*)::int as count, min(name) as least, max(name) as most from health.${table}`,
        )
        const { count, least, most } = rows[0]
        seen.add(`${count} ${least} ${most}`)
        reads += 1
      }
    })
    const expected = new Set([`${sizes[0]} 0 0`])
    for (let round = 1; round <= 24; round += 1) {
      const size = sizes[round % sizes.length]!
      await load(numbered(size, round))
      expected.add(`${size} ${round} ${round}`)
    }
    reading.on = false
    await Promise.all(readers)
    expect([...seen].filter((snapshot) => !expected.has(snapshot))).toEqual([])
    expect(reads).toBeGreaterThan(24)
    expect(await leftovers()).toBe(0)
  }, 30_000)

  it('shows the new rows even to a reader whose snapshot is older than the load', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select 1')
    await load(numbered(5))
    expect((await reader.query(`select count(*)::int from health.${table}`)).rows).toEqual([{ count: 5 }])
  })

  it('keeps readers waiting no longer for many rows than for few', async () => {
    await using reader = await connectedAs(scratch.access, 'read')
    await load(numbered(1))
    const waits: number[] = []
    const copied: number[] = []
    for (const size of [10, 400_000]) {
      const begun = performance.now()
      await using staged = await stage(scratch.warehouse, { table, columns: two }, numbered(size))
      copied.push(performance.now() - begun)
      const publishing = () => scratch.warehouse.publish([staged], async () => true, never)
      const { milliseconds } = await longestWait(reader, `select id from health.${table} limit 1`, publishing)
      waits.push(Math.round(milliseconds))
    }
    // A few milliseconds of it are the swap; the rest is a busy machine. Copying these rows takes longer than that.
    expect(Math.max(...waits)).toBeLessThan(Math.max(250, ...copied))
  })

  it('waits for the maintenance of the old rows without keeping readers waiting', async () => {
    await load(numbered(3))
    const { rows } = await scratch.superuser.query(
      `select inhrelid::regclass::text as partition from pg_inherits where inhparent = 'health.${table}'::regclass`,
    )
    await using vacuum = await connectedAs(scratch.access, 'load')
    await vacuum.query(`begin; lock table only ${rows[0].partition} in share update exclusive mode`)
    await using reader = await connectedAs(scratch.access, 'read')
    const { milliseconds } = await longestWait(reader, `select id from health.${table}`, async () => {
      const publishing = load(numbered(5))
      await sleep(3_000)
      await vacuum.query('rollback')
      await publishing
    })
    expect(await rowsOf()).toHaveLength(5)
    expect(milliseconds).toBeLessThan(2_500)
    const { rows: settings } = await scratch.superuser.query(
      `select reloptions from pg_class c join pg_inherits on inhrelid = c.oid where inhparent = 'health.${table}'::regclass`,
    )
    expect(settings).toEqual([{ reloptions: null }])
  }, 15_000)

  it('keeps views over the table working', async () => {
    await load(numbered(3))
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create view health.over_${table} as select count(*)::int as count from health.${table}`)
    for (const size of [7, 2]) {
      await load(numbered(size))
      expect((await user.query(`select * from health.over_${table}`)).rows).toEqual([{ count: size }])
    }
  })

  it('adds new columns, keeps vanished ones as null and says so once', async () => {
    expect((await load([[1, 'a']])).tables[0]?.changes).toEqual([])
    const grown = await load([['b', '2.50', 2]], columns({ name: 'TEXT', price: 'DECIMAL(5,2)', id: 'INTEGER' }))
    expect(grown.tables[0]?.changes).toEqual([{ kind: 'COLUMN_ADDED', column: 'price', to: 'numeric(5,2)' }])
    expect(await rowsOf()).toEqual([[2, 'b', '2.50']])
    const shrunk = await load([[3]], columns({ id: 'INTEGER' }))
    expect(shrunk.tables[0]?.changes.map(({ kind, column }) => `${kind} ${column}`)).toEqual([
      'COLUMN_VANISHED name',
      'COLUMN_VANISHED price',
    ])
    expect(await rowsOf()).toEqual([[3, null, null]])
    expect((await load([[4]], columns({ id: 'INTEGER' }))).tables[0]?.changes).toEqual([])
    expect((await load([[5, 'e']])).tables[0]?.changes).toEqual([])
    expect(await rowsOf()).toEqual([[5, 'e', null]])
  })

  it('widens types, the partition key’s too, and never narrows them', async () => {
    await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))
    const { tables } = await load([['9223372036854775807', '1.5']], columns({ id: 'BIGINT', value: 'DECIMAL(3,1)' }))
    expect(tables[0]?.changes).toEqual([
      { kind: 'TYPE_WIDENED', column: 'id', from: 'smallint', to: 'bigint' },
      { kind: 'TYPE_WIDENED', column: 'value', from: 'integer', to: 'numeric(11,1)' },
    ])
    expect(await rowsOf()).toEqual([['9223372036854775807', '1.5']])
    expect((await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))).tables[0]?.changes).toEqual([])
    expect(await typesOf()).toEqual({ id: 'BIGINT', value: 'DECIMAL' })
    await load([['eins', 't']], columns({ id: 'TEXT', value: 'BOOLEAN' }))
    expect(await rowsOf()).toEqual([['eins', 't']])
    await load([[1, 2]], columns({ id: 'SMALLINT', value: 'INTEGER' }))
    expect(await rowsOf()).toEqual([['1', '2']])
    await using reader = await connectedAs(scratch.access, 'read')
    expect((await reader.query(`select id from health.${table}`)).rows).toEqual([{ id: '1' }])
  })

  it('follows changed labels', async () => {
    await load([[1, 'a']])
    await load(
      [[1, 'a']],
      two.map((column) => ({ ...column, label: `Label of ${column.name}` })),
    )
    expect((await scratch.warehouse.findTable('health', table))?.columns.map(({ label }) => label)).toEqual([
      'Label of id',
      'Label of name',
    ])
  })

  it('answers the ledger’s row when the run was published before', async () => {
    const run = word('run')
    const first = await loadAll(scratch.warehouse, { table, columns: two, run }, numbered(3))
    const again = await loadAll(scratch.warehouse, { table, columns: two, run, attempt: 2 }, numbered(9))
    expect(again).toEqual(first)
    expect(await scratch.warehouse.findPublication(run)).toEqual(first)
    expect(first).toMatchObject({
      run,
      attempt: 1,
      rows: 3,
      bytes: 45,
      tables: [{ schema: 'health', table, rows: 3, bytes: 45, changes: [] }],
    })
    expect(await rowsOf()).toHaveLength(3)
  })

  it('publishes once when two attempts of a run do it at the same time', async () => {
    for (let round = 0; round < 8; round += 1) {
      const run = word('run')
      const loads = await Promise.all(
        [1, 2].map((attempt) => stage(scratch.warehouse, { table, columns: two, run, attempt }, numbered(attempt))),
      )
      const [one, other] = await Promise.all(
        loads.map((each) => scratch.warehouse.publish([each], async () => true, never)),
      )
      expect(one).toEqual(other)
      await Promise.all(loads.map((each) => each[Symbol.asyncDispose]()))
      expect(await rowsOf()).toHaveLength(one!.attempt)
      expect((await scratch.superuser.query('select from sluice.ledger where run = $1', [run])).rowCount).toBe(1)
    }
    expect(await leftovers()).toBe(0)
  })

  it('lets loads of different runs into one table one after the other, from the first on', async () => {
    const publications = await Promise.all([1, 2, 3].map((size) => load(numbered(size))))
    const last = publications.toSorted((a, b) => b.publishedAt.getTime() - a.publishedAt.getTime())[0]!
    expect([1, 2, 3]).toContain((await rowsOf()).length)
    expect(last.rows).toBeGreaterThan(0)
    expect(await leftovers()).toBe(0)
  })

  it('publishes all tables of a run or none', async () => {
    const run = word('run')
    const other = `${table}_other`
    await load([[1, 'old']])
    const attempt = async (stillOurs: boolean) => {
      await using first = await stage(scratch.warehouse, { table, columns: two, run }, [[2, 'new']])
      await using second = await stage(scratch.warehouse, { table: other, columns: two, run }, [[3, 'new']])
      return await scratch.warehouse.publish([second, first], async () => stillOurs, never)
    }
    await expect(attempt(false)).rejects.toBeInstanceOf(LostRun)
    expect(await rowsOf()).toEqual([[1, 'old']])
    expect(await scratch.warehouse.findTable('health', other)).toBeUndefined()
    expect(await scratch.warehouse.findPublication(run)).toBeUndefined()
    expect((await attempt(true)).tables.map((each) => each.table)).toEqual([table, other])
    expect(await leftovers()).toBe(0)
  })

  it('waits for a reader that holds the table, without a deadlock, and the reader finishes', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin')
    await reader.query(`select * from health.${table}`)
    const publishing = load(numbered(5))
    await sleep(1500)
    expect((await reader.query(`select count(*)::int from health.${table}`)).rows).toEqual([{ count: 3 }])
    await reader.query('commit')
    await publishing
    expect(await rowsOf()).toHaveLength(5)
  })

  it('gets along with views that are refreshed and readers that hold on, and nobody fails', async () => {
    await load(numbered(500, 0))
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create materialized view health.sums_${table} as select name, count(*)::int as count from health.${table} group by name;
      create unique index on health.sums_${table} (name)`)
    const going = { on: true }
    const refreshing = (async () => {
      for (let round = 0; going.on; round += 1)
        await user.query(`refresh materialized view ${round % 2 ? 'concurrently' : ''} health.sums_${table}`)
    })()
    const reading = (async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      const seen = new Set<string>()
      while (going.on) {
        await reader.query('begin isolation level repeatable read')
        for (const _ of [1, 2, 3]) {
          const { rows } = await reader.query(
            `select count(*)::int as count, count(distinct name)::int as names from health.${table}`,
          )
          seen.add(`${rows[0].count} ${rows[0].names}`)
          await sleep(20)
        }
        await reader.query('commit')
      }
      return seen
    })()
    for (let round = 1; round <= 6; round += 1) await load(numbered(500, round))
    going.on = false
    await refreshing
    expect([...(await reading)]).toEqual(['500 1'])
    await user.query(`refresh materialized view health.sums_${table}`)
    expect((await user.query(`select * from health.sums_${table}`)).rows).toEqual([{ name: '6', count: 500 }])
  }, 30_000)

  it('gives up on a reader that never ends, to be tried again later', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin')
    await reader.query(`select * from health.${table}`)
    await expect(load(numbered(5))).rejects.toMatchObject({ code: 'TABLE_BUSY', retryable: true })
    await reader.query('commit')
    expect(await rowsOf()).toHaveLength(3)
    expect(await leftovers()).toBe(0)
  }, 30_000)
})
