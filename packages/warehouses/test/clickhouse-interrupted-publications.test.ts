import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { type ClientAccess, provisionClickHouse } from '../src/clickhouse/clickhouse-settings.ts'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { executeStatement, rowsOf } from '../src/clickhouse/protocol/http-client.ts'
import { keptPrefix } from '../src/clickhouse/sql-identifiers.ts'
import { columns, loadAll, never, numbered, stage } from './row-fixtures.ts'
import { clickhouseMissing, clickhouseServer, type ClickHouseServer } from './clickhouse-under-test.ts'
import { type Cut, cuttingProxy } from './connection-cutting-proxy.ts'
import { rowsIn } from './warehouse-under-test.ts'

const narrow = columns({ id: 'INTEGER', name: 'TEXT' })
const wide = columns({ id: 'BIGINT', name: 'TEXT' })
const oldRows = [
  [1, 'old'],
  [2, 'old'],
]
const newRows = [['5000000000', 'new']]

describe('a publication in ClickHouse that is interrupted', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  let server: ClickHouseServer
  let proxy: Awaited<ReturnType<typeof cuttingProxy>>
  let data: string
  const clients: ClientAccess[] = []
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-killed-'))
    server = await clickhouseServer(data)
    proxy = await cuttingProxy(() => server.url)
  })
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
    await rm(data, { recursive: true, force: true })
  })

  /** Many are made together: our own server starts anew for new users. */
  async function newClient(): Promise<ClientAccess> {
    if (clients.length === 0) {
      const made = Array.from({ length: 20 }, () => server.client())
      await Promise.all(made.map((client) => provisionClickHouse(client)))
      await Promise.all(made.map((client) => openClickHouseWarehouse(client).catalog.ensureSchema('health')))
      clients.push(...made)
    }
    return clients.pop()!
  }

  const through = (access: ClientAccess, url: string): ClientAccess => ({
    key: access.key,
    service: { ...access.service, url },
    load: { ...access.load, url },
    read: { ...access.read, url },
  })

  /** Publishes two tables, one of them under a view, with types that widen. Answers how many requests that took. */
  async function publishWith(cut: Cut | undefined): Promise<number> {
    const access = through(await newClient(), server.url)
    const before = openClickHouseWarehouse(access)
    await loadAll(before, { table: 'cases', columns: narrow }, numbered(2, 'old'))
    await loadAll(before, { table: 'other', columns: narrow }, numbered(2, 'old'))
    const view = { id: randomUUID(), schema: 'health', name: 'over', query: 'select id, name from cases' }
    await before.views.define({ ...view, materialized: false }, { seconds: 30 }, never)
    proxy.count()
    const run = randomUUID()
    const dying = openClickHouseWarehouse(through(access, proxy.url))
    const loads = [
      await stage(dying, { table: 'cases', columns: wide, run }, [['5000000000', 'new']]),
      await stage(dying, { table: 'other', columns: wide, run }, [['5000000000', 'new']]),
    ]
    proxy.count(cut)
    // The process dies there, without a clean-up or a message to the server.
    const outcome = await dying.loader.publish(loads, async () => true, never).catch((error: unknown) => error)
    const requests = proxy.count()
    if (cut) expect(outcome).toBeDefined()

    const after = openClickHouseWarehouse(through(access, server.url))
    const [cases, other] = [await rowsIn(after, 'cases'), await rowsIn(after, 'other')]
    for (const rows of [cases, other]) expect([oldRows, newRows]).toContainEqual(rows)
    const found = await after.loader.findPublication(run)
    const settled = [await rowsIn(after, 'cases'), await rowsIn(after, 'other')]
    expect(settled).toEqual(found ? [newRows, newRows] : [oldRows, oldRows])
    expect(await rowsIn(after, 'over')).toEqual(found ? newRows : oldRows)

    const again = [
      await stage(after, { table: 'cases', columns: wide, run, attempt: 2 }, [['5000000000', 'new']]),
      await stage(after, { table: 'other', columns: wide, run, attempt: 2 }, [['5000000000', 'new']]),
    ]
    const published = await after.loader.publish(again, async () => true, never)
    expect(published.attempt).toBe(found ? 1 : 2)
    expect([await rowsIn(after, 'cases'), await rowsIn(after, 'other')]).toEqual([newRows, newRows])
    expect(await rowsIn(after, 'over')).toEqual(newRows)
    await after.upkeep.sweepStaging(async () => new Set())
    const left = await rowsOf<{ place: string }>(
      { ...access.service, url: server.url },
      `select concat(database, '.', name) as place from system.tables
       where match(database, {pattern:String}) and name not in ('cases', 'other', 'over', 'ledger')`,
      { parameters: { pattern: `^c_${access.key}` } },
    )
    expect(left).toEqual([])
    return requests
  }

  it('is completed once when several workers complete it at the same time', async () => {
    const access = server.client()
    const warehouse = openClickHouseWarehouse(access)
    await warehouse.catalog.ensureSchema('health')
    for (let round = 1; round <= 5; round += 1) {
      const run = randomUUID()
      const end = new AbortController()
      const helping = Array.from({ length: 3 }, async () => {
        const other = openClickHouseWarehouse(access)
        while (!end.signal.aborted) await other.loader.findPublication(run)
      })
      await using load = await stage(warehouse, { table: 'shared', columns: narrow, run }, numbered(round))
      const outcome = await warehouse.loader.publish([load], async () => true, never).finally(() => end.abort())
      expect(outcome).toMatchObject({ run, rows: round })
      await Promise.all(helping)
      expect(await rowsIn(warehouse, 'shared')).toHaveLength(round)
    }
  })

  it('is published completely or not at all if the connection is lost at any request', async () => {
    const requests = await publishWith(undefined)
    expect(requests).toBeGreaterThan(15)
    // What the server never heard of leaves it as the request before did.
    await publishWith({ request: 1, heard: false })
    for (let request = 1; request <= requests; request += 1) await publishWith({ request, heard: true })
  }, 900_000)

  it('that restores tables is complete or absent, and loses no rows, if the connection is lost at any request', async () => {
    const access = through(await newClient(), server.url)
    const after = openClickHouseWarehouse(access, { keepDays: 3 })
    const tables = ['cases', 'other']
    for (const [columnsOf, rows] of [
      [narrow, oldRows],
      [wide, newRows],
    ] as const) {
      const run = randomUUID()
      const loads = await Promise.all(
        tables.map((table) => stage(after, { table, columns: columnsOf, run }, rows as [string, string][])),
      )
      await after.loader.publish(loads, async () => true, never)
    }
    const view = { id: randomUUID(), schema: 'health', name: 'over', query: 'select id, name from cases' }
    await after.views.define({ ...view, materialized: false }, { seconds: 30 }, never)
    const contents = async () => [
      ...(await Promise.all(tables.map((table) => rowsIn(after, table)))),
      await rowsIn(after, 'over'),
    ]
    const all = (rows: unknown) => [rows, rows, rows]
    const restore = (warehouse: typeof after, run: string, attempt: number) =>
      warehouse.loader.restore({ schema: 'health', table: 'cases', run, attempt }, async () => true, never)

    const restoreWith = async (cut: Cut | undefined): Promise<number> => {
      const run = randomUUID()
      const dying = openClickHouseWarehouse(through(access, proxy.url), { keepDays: 3 })
      await dying.upkeep.check()
      proxy.count(cut)
      await restore(dying, run, 1).catch(() => {})
      const requests = proxy.count()
      const found = await after.loader.findPublication(run)
      expect([cut, await contents()]).toEqual([cut, all(found ? oldRows : newRows)])
      // A worker that takes over, or one that finds that the run is over and sweeps what it left.
      if (requests % 2 === 0) await after.upkeep.sweepStaging(async () => new Set())
      expect((await restore(after, run, 2)).attempt).toBe(found ? 1 : 2)
      expect(await contents()).toEqual(all(oldRows))
      await after.upkeep.sweepStaging(async () => new Set())
      await restore(after, randomUUID(), 1)
      expect(await contents()).toEqual(all(newRows))
      return requests
    }
    const requests = await restoreWith(undefined)
    expect(requests).toBeGreaterThan(15)
    for (let request = 1; request <= requests; request += 1) await restoreWith({ request, heard: true })
  }, 900_000)

  it.each([false, true])(
    'that restores a table succeeds on a retry after the kept table was moved (its database dropped: %j)',
    async (last) => {
      const access = through(await newClient(), server.url)
      const warehouse = openClickHouseWarehouse(access, { keepDays: 3 })
      await loadAll(warehouse, { table: 'cases', columns: narrow }, oldRows)
      await loadAll(warehouse, { table: 'cases', columns: wide }, newRows)
      let moved = 0
      await using moving = await cuttingProxy(
        () => server.url,
        async (_user, sql) => {
          const [, from, database] = /^rename table ((`[^`]+`)\.`[^`]+`) to \S*restored_/.exec(sql) ?? []
          if (!from || !database || moved > 0) return
          moved += 1
          const other = `\`${keptPrefix(access.key)}${randomUUID().slice(0, 8)}\``
          await executeStatement(access.service, `create database ${other}`)
          await executeStatement(access.service, `rename table ${from} to ${other}.kept`)
          if (last) await executeStatement(access.service, `drop database ${database}`)
        },
      )
      const slower = openClickHouseWarehouse(through(access, moving.url), { keepDays: 3 })
      const target = { schema: 'health', table: 'cases', run: randomUUID() }
      const restore = (attempt: number) => slower.loader.restore({ ...target, attempt }, async () => true, never)
      await expect(restore(1)).rejects.toMatchObject({ code: 'WAREHOUSE_BUSY', retryable: true })
      expect([moved, await rowsIn(warehouse, 'cases')]).toEqual([1, newRows])
      expect((await restore(2)).attempt).toBe(2)
      expect(await rowsIn(warehouse, 'cases')).toEqual(oldRows)
    },
    60_000,
  )

  itUnless(process.env['CLICKHOUSE_TEST_URL'] ? 'a server of CLICKHOUSE_TEST_URL is not killed' : undefined)(
    'is published completely or not at all if the server is killed at every seventh request',
    async () => {
      const also = async () => {
        await server.kill()
        server = await clickhouseServer(data)
      }
      const requests = await publishWith(undefined)
      for (let request = 6; request <= requests; request += 7) await publishWith({ request, heard: true, also })
    },
    900_000,
  )
})
