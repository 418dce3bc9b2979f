import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { casesForEach, two } from '../../../test/test-case-tables.ts'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { longestWait } from '../../../test/measure-longest-wait.ts'
import { never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs } from '../../../test/scratch-warehouse.ts'

describe('publishing while readers use the table', () => {
  const cases = casesForEach()
  const { scratch, load, rowsOf } = cases

  it('shows readers either all old rows or all new rows', async () => {
    const sizes = [5_000, 20_000, 1, 12_345]
    await load(numbered(sizes[0]!, 0))
    const seen = new Set<string>()
    const reading = { on: true }
    let reads = 0
    const readers = [1, 2].map(async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      while (reading.on) {
        const { rows } = await reader.query(
          `select count(*)::int as count, min(name) as least, max(name) as most from health.${cases.table}`,
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
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('shows the new rows to a reader with a snapshot older than the load', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select 1')
    await load(numbered(5))
    expect((await reader.query(`select count(*)::int from health.${cases.table}`)).rows).toEqual([{ count: 5 }])
  })

  it('delays readers by less time than the copy of its 400,000 rows takes', async () => {
    await using reader = await connectedAs(scratch.access, 'read')
    await load(numbered(1))
    const delays: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const begun = performance.now()
      await using staged = await stage(scratch.warehouse, { table: cases.table, columns: two }, numbered(400_000))
      const copied = performance.now() - begun
      const publishing = () => scratch.warehouse.loader.publish([staged], async () => true, never)
      const { milliseconds } = await longestWait(reader, `select id from health.${cases.table} limit 1`, publishing)
      delays.push(milliseconds / copied)
    }
    // The swap takes a few milliseconds. A busy machine can stop a reader for longer in one round, but not in each.
    expect(Math.min(...delays)).toBeLessThan(1)
  })

  it('waits for a vacuum lock on the old rows without delaying readers', async () => {
    await load(numbered(3))
    const { rows } = await scratch.superuser.query(
      `select inhrelid::regclass::text as partition from pg_inherits where inhparent = 'health.${cases.table}'::regclass`,
    )
    await using vacuum = await connectedAs(scratch.access, 'load')
    await vacuum.query(`begin; lock table only ${rows[0].partition} in share update exclusive mode`)
    await using reader = await connectedAs(scratch.access, 'read')
    const { milliseconds } = await longestWait(reader, `select id from health.${cases.table}`, async () => {
      const publishing = load(numbered(5))
      await sleep(3_000)
      await vacuum.query('rollback')
      await publishing
    })
    expect(await rowsOf()).toHaveLength(5)
    expect(milliseconds).toBeLessThan(2_500)
    const { rows: settings } = await scratch.superuser.query(
      `select reloptions from pg_class c join pg_inherits on inhrelid = c.oid where inhparent = 'health.${cases.table}'::regclass`,
    )
    expect(settings).toEqual([{ reloptions: null }])
  })

  it('keeps views over the table valid', async () => {
    await load(numbered(3))
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(
      `create view health.over_${cases.table} as select count(*)::int as count from health.${cases.table}`,
    )
    for (const size of [7, 2]) {
      await load(numbered(size))
      expect((await user.query(`select * from health.over_${cases.table}`)).rows).toEqual([{ count: size }])
    }
  })

  it('waits for a reader that holds the table, which can finish without a deadlock', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin')
    await reader.query(`select * from health.${cases.table}`)
    const publishing = load(numbered(5))
    await sleep(1500)
    expect((await reader.query(`select count(*)::int from health.${cases.table}`)).rows).toEqual([{ count: 3 }])
    await reader.query('commit')
    await publishing
    expect(await rowsOf()).toHaveLength(5)
  })

  it('succeeds while materialised views are refreshed and readers hold transactions, which succeed too', async () => {
    await load(numbered(500, 0))
    await using user = await connectedAs(scratch.access, 'load')
    await user.query(`create materialized view health.sums_${cases.table} as select name, count(*)::int as count from health.${cases.table} group by name;
      create unique index on health.sums_${cases.table} (name)`)
    const going = { on: true }
    const refreshing = (async () => {
      for (let round = 0; going.on; round += 1)
        await user.query(`refresh materialized view ${round % 2 ? 'concurrently' : ''} health.sums_${cases.table}`)
    })()
    const reading = (async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      const seen = new Set<string>()
      while (going.on) {
        await reader.query('begin isolation level repeatable read')
        for (const _ of [1, 2, 3]) {
          const { rows } = await reader.query(
            `select count(*)::int as count, count(distinct name)::int as names from health.${cases.table}`,
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
    await user.query(`refresh materialized view health.sums_${cases.table}`)
    expect((await user.query(`select * from health.sums_${cases.table}`)).rows).toEqual([{ name: '6', count: 500 }])
  })

  it('fails with a retryable TABLE_BUSY and keeps the old rows if a reader does not end', async () => {
    await load(numbered(3))
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin')
    await reader.query(`select * from health.${cases.table}`)
    await expect(load(numbered(5))).rejects.toMatchObject({ code: 'TABLE_BUSY', retryable: true })
    await reader.query('commit')
    expect(await rowsOf()).toHaveLength(3)
    expect(await leftovers(scratch.superuser)).toEqual([])
  })
})
