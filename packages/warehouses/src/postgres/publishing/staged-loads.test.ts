import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { stagingTables } from '../../../test/find-leftover-tables.ts'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples } from '../../../test/copy-tuples.ts'
import { LeaseLost, type StagedTable } from '../../warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('staged loads that another attempt adopts', () => {
  const scratch = scratchWarehouseForAll()
  let table: string
  let target: { schema: string; table: string; columns: typeof two; run: string; attempt: number }

  beforeEach(async () => {
    table = word('cases_')
    target = { schema: 'health', table, columns: two, run: word('run'), attempt: 1 }
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(3))
  })

  const rowsOf = async () => (await scratch.warehouse.catalog.findTable('health', table))?.rowCount
  /** The stored state of loads, as the database returns it. */
  const describeLoads = async (...loads: StagedTable[]) =>
    JSON.parse(JSON.stringify(await scratch.warehouse.loader.describeStaged!(loads, never)))
  const adopt = (staged: unknown, attempt: number) =>
    scratch.warehouse.loader.adoptStaged!('health', staged, attempt, never)
  const publish = (loads: readonly StagedTable[]) => scratch.warehouse.loader.publish(loads, async () => true, never)

  it('can be published and dropped only by the attempt that adopted them last', async () => {
    await using first = await stage(scratch.warehouse, target, numbered(5))
    const staged = await describeLoads(first)
    const [second] = (await adopt(staged, 2))!
    const [third] = (await adopt(staged, 3))!
    for (const older of [first, second!]) {
      await expect(publish([older])).rejects.toBeInstanceOf(LeaseLost)
      await older[Symbol.asyncDispose]()
    }
    for (const attempt of [1, 2, 3]) expect(await adopt(staged, attempt)).toBeUndefined()
    expect(await stagingTables(scratch.superuser)).toEqual([third!.stagingTable])
    expect(await publish([third!])).toMatchObject({ attempt: 3, rows: 5 })
    expect([await adopt(staged, 4), await rowsOf(), await stagingTables(scratch.superuser)]).toEqual([undefined, 5, []])
  })

  it('are not adopted if one of their staging tables was dropped', async () => {
    const other = { ...target, table: word('other_') }
    await using kept = await stage(scratch.warehouse, target, numbered(5))
    const dropped = await stage(scratch.warehouse, other, numbered(5))
    const staged = await describeLoads(kept, dropped)
    await dropped[Symbol.asyncDispose]()
    expect(await adopt(staged, 2)).toBeUndefined()
    expect(await publish([kept])).toMatchObject({ attempt: 1, rows: 5 })
  })

  it('are not adopted if rows are missing', async () => {
    await using load = await stage(scratch.warehouse, target, numbered(5))
    const staged = await describeLoads(load)
    await scratch.superuser.query(`delete from sluice."${load.stagingTable}" where id = 1`)
    expect(await adopt(staged, 2)).toBeUndefined()
  })

  it('are adopted after another transaction releases its lock, but not after their publication', async () => {
    await using load = await stage(scratch.warehouse, target, numbered(5))
    const staged = await describeLoads(load)
    await using other = await connectedAs(scratch.access, 'load')
    await other.query(`begin; lock table sluice."${load.stagingTable}" in access share mode`)
    const adopting = adopt(staged, 2)
    const waiting = 'select from pg_locks where not granted and relation = to_regclass($1)'
    await until(async () => (await scratch.superuser.query(waiting, [`sluice."${load.stagingTable}"`])).rowCount === 1)
    await other.query('commit')
    const [adopted] = (await adopting)!
    await publish([adopted!])
    expect(await adopt(staged, 3)).toBeUndefined()
  })

  it('report a vanished column again if the first attempt to publish them failed', async () => {
    const three = columns({ id: 'INTEGER', name: 'TEXT', more: 'TEXT' })
    await loadAll(scratch.warehouse, { table, columns: three }, [[1, 'a', 'b']])
    await using first = await stage(scratch.warehouse, target, numbered(5))
    const staged = await describeLoads(first)
    const refused = scratch.warehouse.loader.publish([first], async () => false, never)
    await expect(refused).rejects.toBeInstanceOf(LeaseLost)
    const { tables } = await publish((await adopt(staged, 2))!)
    expect(tables[0]!.changes).toMatchObject([{ kind: 'COLUMN_VANISHED', column: 'more' }])
  })

  it('are published only after readers with an older snapshot end', async () => {
    await using reader = await connectedAs(scratch.access, 'read')
    await reader.query('begin isolation level repeatable read')
    await reader.query('select 1')
    const count = async () => (await reader.query(`select count(*)::int from health.${table}`)).rows[0].count
    await using load = await scratch.warehouse.loader.stage(target, never)
    await load.write(
      binary(() => numberedTuples(5), { size: 1 << 30 }),
      never,
    )
    const publishing = publish((await adopt(await describeLoads(load), 2))!)
    await sleep(600)
    expect(await count()).toBe(3)
    await reader.query('commit')
    await publishing
    expect(await count()).toBe(5)
  })
})
