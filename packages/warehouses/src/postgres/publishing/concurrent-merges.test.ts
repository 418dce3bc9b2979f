import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { keyed, mergedForEach } from '../../../test/merged-table-fixtures.ts'
import { numbered } from '../../../test/row-fixtures.ts'
import { connectedAs, word } from '../../../test/scratch-warehouse.ts'

describe('merging increments concurrently with other sessions', () => {
  const cases = mergedForEach()
  const { scratch, publish, rowsOf, found, partition } = cases

  it('keeps the old rows when the merge is cancelled, and succeeds on the next attempt', async () => {
    await publish(numbered(3, 'old'))
    const [live] = await partition()
    await scratch.superuser.query(`
      create function sluice.dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(600); return new; end';
      create trigger dawdle before update on ${live!.name}
        for each row execute function sluice.dawdle()`)
    const merging = async () =>
      (
        await scratch.superuser.query(
          `select from pg_stat_activity where usename = $1 and state = 'active' and query like '%update%incoming%'`,
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
    expect([
      await scratch.warehouse.loader.findPublication(run),
      await rowsOf(),
      await leftovers(scratch.superuser),
    ]).toEqual([undefined, [...numbered(3, 'old')], []])
    await scratch.superuser.query('drop function sluice.dawdle() cascade')
    await publish(numbered(3, 'new'), { run, attempt: 2 })
    expect(await rowsOf()).toEqual([...numbered(3, 'new')])
  })

  it('completes the publication if the signal aborts after the swap began', async () => {
    await publish(numbered(3, 'old'))
    await using reader = await connectedAs(scratch.access, 'read')
    const cancel = new AbortController()
    await reader.query(`begin; select from health.${cases.table}`)
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

  it('shows readers either all or no rows of an increment, also when a type widens', async () => {
    await publish(numbered(2_000, 0))
    const seen = new Set<string>()
    const reading = { on: true }
    const readers = [1, 2].map(async () => {
      await using reader = await connectedAs(scratch.access, 'read')
      while (reading.on) {
        const { rows } = await reader.query(
          `select count(*)::int as n, min(name) as a, max(name) as b from health.${cases.table}`,
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
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('merges concurrent increments into one table without losing rows', async () => {
    await publish(numbered(10, 'old'))
    for (let round = 0; round < 5; round += 1)
      await Promise.all(
        [1, 2, 3].map((writer) =>
          publish(Array.from({ length: 20 }, (_, row) => [writer * 1000 + round * 100 + row, `by ${writer}`])),
        ),
      )
    expect([(await found())?.rowCount, (await rowsOf()).length, await leftovers(scratch.superuser)]).toEqual([
      310,
      310,
      [],
    ])
  })
})
