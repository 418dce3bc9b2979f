import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { leftovers } from '../../../test/leftovers.ts'
import { keyed, mergedForEach } from '../../../test/merged-table.ts'
import { columns } from '../../../test/row-fixtures.ts'
import { connectedAs, word } from '../../../test/scratch-warehouse.ts'

const withoutKey = columns({ id: 'INTEGER', name: 'TEXT' })
const twoRows = [
  [1, 'a'],
  [2, 'b'],
] as const

describe('the first increment into a table without a key', () => {
  const cases = mergedForEach()
  const { scratch, publish, rowsOf, found, partition } = cases
  const keyOfTable = async () => (await found())!.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  const indexes = async () => {
    const { rows } = await scratch.superuser.query<{ valid: boolean }>(
      `select x.indisvalid as valid from pg_inherits i join pg_index x on x.indrelid = i.inhrelid
       where i.inhparent = 'health.${cases.table}'::regclass`,
    )
    return rows
  }

  it('merges in place: the table gets a key and no row is copied', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await publish([[2, 'B']])
    expect([await partition(), await keyOfTable(), await rowsOf()]).toEqual([
      before,
      ['id'],
      [
        [1, 'a'],
        [2, 'B'],
      ],
    ])
    await publish([[3, 'c']])
    expect([await partition(), await indexes(), (await found())!.rowCount]).toEqual([before, [{ valid: true }], 3])
    await expect(
      publish([
        [3, 'c'],
        [3, 'd'],
      ]),
    ).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })

  it('replaces rows with the same key, as a copy of the table does', async () => {
    await publish([...twoRows, [2, 'c']], { shape: withoutKey, mode: 'REPLACE' })
    await publish([[2, 'B']])
    expect([await keyOfTable(), await rowsOf()]).toEqual([
      ['id'],
      [
        [1, 'a'],
        [2, 'B'],
      ],
    ])
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('fails if two other rows have the same key or a row has none, and keeps the rows', async () => {
    await publish([...twoRows, [2, 'c']], { shape: withoutKey, mode: 'REPLACE' })
    const before = await rowsOf()
    await expect(publish([[3, 'd']])).rejects.toMatchObject({
      code: 'DUPLICATE_KEY',
      message: expect.stringMatching(/^Rows of earlier loads in .* Key \(id\)=\(2\) is duplicated\./),
    })
    expect([await rowsOf(), await keyOfTable()]).toEqual([before, []])
    await publish([...twoRows, [null, 'c']], { shape: withoutKey, mode: 'REPLACE' })
    await expect(publish([[3, 'd']])).rejects.toMatchObject({ retryable: false })
    expect([(await rowsOf()).length, await keyOfTable()]).toEqual([3, []])
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('continues after an attempt that was killed while it built the key, and readers do not wait', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await using reader = await connectedAs(scratch.access, 'read')
    // The index is not valid before this snapshot has ended.
    await reader.query(`begin isolation level repeatable read; select from health.${cases.table}`)
    const killed = new AbortController()
    const run = word('run')
    const publishing = expect(publish([[3, 'c']], { run, signal: killed.signal })).rejects.toThrow('killed')
    while ((await indexes()).length === 0) await sleep(10)
    await using other = await connectedAs(scratch.access, 'read')
    await other.query(`set statement_timeout = '2s'`)
    expect((await other.query(`select from health.${cases.table}`)).rowCount).toBe(2)
    killed.abort(new Error('killed'))
    await publishing
    expect([await indexes(), await keyOfTable()]).toEqual([[{ valid: false }], []])
    await reader.query('rollback')
    await publish([[3, 'c']], { run, attempt: 2 })
    expect([await partition(), await indexes(), await keyOfTable(), (await rowsOf()).length]).toEqual([
      before,
      [{ valid: true }],
      ['id'],
      3,
    ])
  })

  it('leaves no index that refuses appended rows if it was killed', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query(`begin isolation level repeatable read; select from health.${cases.table}`)
    const killed = new AbortController()
    const publishing = expect(publish([[3, 'c']], { signal: killed.signal })).rejects.toThrow('killed')
    const isEnforced = async () =>
      (
        await scratch.superuser.query(
          `select from pg_inherits i join pg_index x on x.indrelid = i.inhrelid
           where i.inhparent = 'health.${cases.table}'::regclass and x.indisready`,
        )
      ).rowCount === 1
    while (!(await isEnforced())) await sleep(10)
    killed.abort(new Error('killed'))
    await publishing
    const buildingIndexes = `select from pg_stat_activity where query like 'create unique index%' and state = 'active'
      and datname = (select datname from pg_stat_activity where pid = $1)`
    const { rows: sessions } = await reader.query<{ pid: number }>('select pg_backend_pid() as pid')
    while ((await scratch.superuser.query(buildingIndexes, [sessions[0]!.pid])).rowCount) await sleep(10)
    await reader.query('rollback')
    await publish([[2, 'again']], { shape: withoutKey, mode: 'APPEND' })
    expect([await partition(), await indexes(), (await rowsOf()).length]).toEqual([before, [], 3])
  })

  it('copies the rows if the key or a type changes', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await publish([['5000000000', 'x']], { shape: keyed({ id: 'BIGINT', name: 'TEXT' }) })
    expect(await partition()).not.toEqual(before)
    expect([await keyOfTable(), (await rowsOf()).length]).toEqual([['id'], 3])
  })
})
