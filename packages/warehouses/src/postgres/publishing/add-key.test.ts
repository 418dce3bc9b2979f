import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { keyed, mergedForEach } from '../../../test/merged-table-fixtures.ts'
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
      message: expect.stringMatching(/^Rows of earlier loads in \S+ have the same key \(id = 2\); /),
    })
    expect([await rowsOf(), await keyOfTable()]).toEqual([before, []])
    await publish([...twoRows, [null, 'c']], { shape: withoutKey, mode: 'REPLACE' })
    await expect(publish([[3, 'd']])).rejects.toMatchObject({ retryable: false })
    expect([(await rowsOf()).length, await keyOfTable()]).toEqual([3, []])
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('does not wait for readers', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query(`begin isolation level repeatable read; select from health.${cases.table}`)
    await publish([[3, 'c']])
    expect([await partition(), await indexes(), await keyOfTable()]).toEqual([before, [{ valid: true }], ['id']])
    expect((await reader.query(`select from health.${cases.table}`)).rowCount).toBe(2)
  })

  it('leaves nothing of a build that is killed, for which readers do not wait', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    const writer = scratch.superuser
    await writer.query(`begin; lock table ${before[0]!.name} in row exclusive mode`)
    const killed = new AbortController()
    const run = word('run')
    const publishing = expect(publish([[3, 'c']], { run, signal: killed.signal })).rejects.toThrow('killed')
    const waiting = `select from pg_locks where relation = '${before[0]!.name}'::regclass and not granted`
    while ((await writer.query(waiting)).rowCount === 0) await sleep(10)
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query(`set statement_timeout = '2s'`)
    expect((await reader.query(`select from health.${cases.table}`)).rowCount).toBe(2)
    killed.abort(new Error('killed'))
    await publishing
    await writer.query('rollback')
    while ((await writer.query(waiting)).rowCount) await sleep(10)
    expect([await indexes(), await keyOfTable()]).toEqual([[], []])
    await publish([[4, 'd']], { shape: withoutKey, mode: 'APPEND' })
    await publish([[3, 'c']], { run, attempt: 2 })
    expect([await partition(), await indexes(), await keyOfTable(), (await rowsOf()).length]).toEqual([
      before,
      [{ valid: true }],
      ['id'],
      4,
    ])
  })

  it('copies the rows if the key or a type changes', async () => {
    await publish(twoRows, { shape: withoutKey, mode: 'REPLACE' })
    const before = await partition()
    await publish([['5000000000', 'x']], { shape: keyed({ id: 'BIGINT', name: 'TEXT' }) })
    expect(await partition()).not.toEqual(before)
    expect([await keyOfTable(), (await rowsOf()).length]).toEqual([['id'], 3])
  })
})
