import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { columns, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { connectedAs, scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples, tuple } from '../../../test/copy-tuples.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { warehouseProblem } from '../map-server-errors.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })

describe('faults of a PostgreSQL warehouse', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(async () => {
    table = word('cases_')
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(3))
  })

  const count = async () =>
    (await scratch.warehouse.queries.readTable('health', table, { limit: 100, offset: 0 })).rows.length
  const staged = async (run: string) =>
    (
      await scratch.superuser.query(
        `select from pg_class where relnamespace = 'sluice'::regnamespace and relname like $1 and relkind = 'r'`,
        [`run\\_${run}\\_%`],
      )
    ).rowCount
  const backends = async () => {
    const { rows } = await scratch.superuser.query(
      `select pid, query from pg_stat_activity where usename = $1 and state <> 'idle'`,
      [scratch.access.load.user],
    )
    return rows as { pid: number; query: string }[]
  }
  const begin = (run = word('run')) =>
    scratch.warehouse.loader.stage({ schema: 'health', table, columns: two, run, attempt: 1 }, never)

  it.each(['in COPY', 'before publishing'])(
    'keeps the old rows when the worker is killed %s, and sweepStaging drops the staging table',
    async (where) => {
      const run = word('run')
      const child = spawn(
        process.execPath,
        [
          fileURLToPath(import.meta.resolve('../../../test/loader-that-hangs.ts')),
          JSON.stringify({ access: scratch.access, target: { schema: 'health', table, run, attempt: 1 }, where }),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      await once(child.stdout, 'data')
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(await staged(run)).toBe(1)
      expect(await scratch.warehouse.upkeep.sweepStaging(async () => new Set([run]))).toBe(0)
      // The server first has to notice that the connections of the killed worker are gone.
      let swept = 0
      await until(async () => (swept += await scratch.warehouse.upkeep.sweepStaging(async () => new Set())) > 0)
      expect(swept).toBe(1)
      expect([await staged(run), await count()]).toEqual([0, 3])
      await until(async () => (await backends()).length === 0)
      const retried = await loadAll(scratch.warehouse, { table, columns: two, run, attempt: 2 }, numbered(4))
      expect([retried.attempt, await count()]).toEqual([2, 4])
    },
  )

  it('ends the sessions of an aborted load while its source still sends rows', async () => {
    const cancel = new AbortController()
    const load = await begin()
    async function* endless() {
      for (;;) yield* numberedTuples(10_000)
    }
    const writing = load.write(binary(endless), cancel.signal)
    setTimeout(() => cancel.abort(new Error('cancelled by hand')), 400)
    const start = performance.now()
    await expect(writing).rejects.toThrow('cancelled by hand')
    await load[Symbol.asyncDispose]()
    await until(async () => (await backends()).length === 0)
    expect(performance.now() - start).toBeLessThan(30_000)
    expect(await count()).toBe(3)
  })

  it('rejects an aborted load without waiting for a source that hangs', async () => {
    const cancel = new AbortController()
    await using load = await begin()
    async function* stuck() {
      yield* numberedTuples(1)
      await new Promise(() => {})
    }
    const writing = load.write(binary(stuck), cancel.signal)
    setTimeout(() => cancel.abort(), 100)
    await expect(writing).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each(['hangs', 'sends rows'])(
    'fails with a retryable error when the connection is terminated while the source %s',
    async (source) => {
      const run = word('run')
      const load = await begin(run)
      async function* rows() {
        yield* numberedTuples(1000)
        if (source === 'hangs') await new Promise(() => {})
        for (;;) {
          yield { bytes: tuple([7, 'seven']) }
          await sleep(1)
        }
      }
      const writing = load.write(binary(rows), never)
      const refused = expect(writing).rejects.toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
      const copying = await until(async () => {
        const found = (await backends()).filter(({ query }) => query.includes('; copy '))
        return found.length > 0 && found
      })
      expect(copying).toHaveLength(1)
      await scratch.superuser.query('select pg_terminate_backend($1)', [copying[0]!.pid])
      await refused
      await load[Symbol.asyncDispose]()
      expect([await staged(run), await count()]).toEqual([0, 3])
    },
  )

  it('does not drop the published table if the response to the commit was lost', async () => {
    const load = (await stage(scratch.warehouse, { table, columns: two }, numbered(6))) as PostgresStagedTable
    await scratch.warehouse.loader.publish([load], async () => true, never)
    expect(load.published).toBe(true)
    load.published = false
    await load[Symbol.asyncDispose]()
    expect(await count()).toBe(6)
  })

  it('sweepStaging keeps published tables, tables of users, and staging tables created during the sweep', async () => {
    await using user = await connectedAs(scratch.access, 'load')
    await user.query('create table sluice.mine (id int)')
    let late: Awaited<ReturnType<typeof begin>> | undefined
    await using early = await begin()
    expect(early.stagingTable).toMatch(/^run_run/)
    const swept = await scratch.warehouse.upkeep.sweepStaging(async () => {
      late = await begin()
      return new Set()
    })
    expect([swept, await count()]).toEqual([1, 3])
    expect((await user.query('select from pg_class where relname = $1', [late!.stagingTable])).rowCount).toBe(1)
    await late![Symbol.asyncDispose]()
    await user.query('drop table sluice.mine')
  })

  it('distinguishes an unreachable server from rejected credentials', async () => {
    await using away = openPostgresWarehouse({ ...scratch.access, port: 1 })
    await expect(away.catalog.findTable('health', table)).rejects.toMatchObject({
      code: 'WAREHOUSE_UNAVAILABLE',
      retryable: true,
    })
    const wrong = { user: scratch.access.load.user, password: 'wrong-password' }
    await using unknown = openPostgresWarehouse({
      ...scratch.access,
      load: wrong,
      read: { ...wrong, user: scratch.access.read.user },
    })
    await expect(unknown.catalog.findTable('health', table)).rejects.toMatchObject({
      code: 'WAREHOUSE_ACCESS_DENIED',
      retryable: false,
    })
    await expect(unknown.queries.readTable('health', table, { limit: 1, offset: 0 })).rejects.toMatchObject({
      code: 'WAREHOUSE_ACCESS_DENIED',
    })
  })

  it.each([
    ['53100', 'DISK_FULL', false],
    ['53400', 'DISK_FULL', false],
    ['53300', 'WAREHOUSE_BUSY', true],
    ['57P01', 'WAREHOUSE_UNAVAILABLE', true],
    ['08006', 'WAREHOUSE_UNAVAILABLE', true],
    ['55P03', 'TABLE_BUSY', true],
    ['57014', 'QUERY_TIMEOUT', false],
    ['XX001', 'WAREHOUSE_REFUSED', false],
  ])('maps SQLSTATE %s to %s', async (sqlState, code, retryable) => {
    const raised = await scratch.superuser
      .query(`do $$ begin raise exception 'as told' using errcode = '${sqlState}'; end $$`)
      .catch((error: unknown) => error)
    expect(warehouseProblem(raised, { qualifiedName: 'it' })).toMatchObject({ code, retryable })
  })
})
