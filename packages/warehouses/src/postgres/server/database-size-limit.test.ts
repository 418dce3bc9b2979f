import { beforeEach, describe, expect, it } from '@jest/globals'
import { leftovers } from '../../../test/find-leftover-tables.ts'
import { columns, given, loadAll, never, numbered, stage } from '../../../test/row-fixtures.ts'
import { scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import type { RowStream } from '@sluice/row-stream'
import { type LoadJob, loadRowStreams } from '../../load-row-streams.ts'
import type { TupleChunk } from '../../warehouse.ts'
import { checkWhileWriting } from './database-size-limit.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })
const mega = 1024 ** 2

/** Rows that PostgreSQL cannot compress, of about 1 KB each. */
function* large(megabytes: number): Generator<[number, string]> {
  for (let id = 0; id < megabytes * 1024; id += 1)
    yield [id, Array.from({ length: 62 }, () => Math.random().toString(36).slice(2, 18).padEnd(16, 'x')).join('')]
}

/** Rows of one small cell. On disk they take several times their bytes in COPY. */
function* small(rows: number): Generator<[number]> {
  for (let id = 0; id < rows; id += 1) yield [id]
}

describe('the size limit of the database of an organisation', () => {
  const scratch = scratchWarehouseForAll()
  let table: string
  beforeEach(() => {
    table = word('cases_')
  })

  const size = async (): Promise<number> => {
    const { rows } = await scratch.superuser.query('select pg_database_size(current_database())::float8 as bytes')
    return rows[0].bytes
  }
  const opened = async (free: number, limits = {}) =>
    openPostgresWarehouse(scratch.access, { databaseBytes: (await size()) + free, ...limits })
  const rowsOf = async (name = table) => (await scratch.warehouse.catalog.findTable('health', name))?.rowCount

  it('ends a load that exceeds it, and keeps the old rows', async () => {
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(3))
    await using warehouse = await opened(2 * mega)
    await expect(stage(warehouse, { table, columns: two }, large(24))).rejects.toMatchObject({
      code: 'WAREHOUSE_FULL',
      retryable: false,
      message: expect.stringMatching(/^The warehouse exceeds its limit of [\d,]+ bytes/),
    })
    expect([await leftovers(scratch.superuser), await rowsOf()]).toEqual([[], 3])
  })

  it('counts the bytes on disk of rows with small cells', async () => {
    const one = columns({ id: 'INTEGER' })
    await using warehouse = await opened(2 * mega)
    const loading = stage(warehouse, { table, columns: one }, small(300_000))
    await expect(loading).rejects.toMatchObject({ code: 'WAREHOUSE_FULL' })
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('allows a load to exceed it by the size of the tables that the load replaces, unless the load merges', async () => {
    const other = word('other_')
    const job = (warehouse: LoadJob['warehouse'], changes: Partial<LoadJob> = {}): LoadJob => ({
      rowStreams: (async function* (): AsyncGenerator<RowStream> {
        yield { table, columns: two, content: given(large(4)) }
        yield { table: other, columns: two, content: given(large(4)) }
      })(),
      warehouse,
      target: { schema: 'health', table },
      run: word('run'),
      attempt: 1,
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
      ...changes,
    })
    await loadRowStreams(job(scratch.warehouse))
    await using warehouse = await opened(mega)
    await loadRowStreams(job(warehouse))
    expect([await rowsOf(), await rowsOf(other)]).toEqual([4096, 4096])
    await expect(loadRowStreams(job(warehouse, { mode: 'MERGE' }))).rejects.toMatchObject({ code: 'WAREHOUSE_FULL' })
    expect([await rowsOf(), await leftovers(scratch.superuser)]).toEqual([4096, []])
  }, 30_000)

  it('drops staged rows that would otherwise be kept for inspection', async () => {
    const other = word('other_')
    await using warehouse = await opened(2 * mega)
    const loading = loadRowStreams({
      rowStreams: (async function* (): AsyncGenerator<RowStream> {
        yield { table: other, columns: two, content: given(numbered(2)) }
        yield { table, columns: two, content: given(large(16)) }
      })(),
      warehouse,
      target: { schema: 'health', table },
      run: word('run'),
      attempt: 1,
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
      retain: true,
    })
    await expect(loading).rejects.toMatchObject({ code: 'WAREHOUSE_FULL' })
    expect(await leftovers(scratch.superuser)).toEqual([])
  })

  it('drops previous tables to free space before it ends a load', async () => {
    await using keeping = openPostgresWarehouse(scratch.access, { keepDays: 3 })
    await loadAll(keeping, { table, columns: two }, large(8))
    await loadAll(keeping, { table, columns: two }, numbered(3))
    await using warehouse = await opened(mega, { keepDays: 3 })
    await loadAll(warehouse, { table: word('other_'), columns: two }, large(6))
    expect(await warehouse.loader.findPrevious('health', table)).toBeUndefined()
  })

  it('does not cause a deadlock when eight loads exceed it at the same time', async () => {
    await using keeping = openPostgresWarehouse(scratch.access, { keepDays: 3 })
    await loadAll(keeping, { table, columns: two }, large(8))
    await loadAll(keeping, { table, columns: two }, numbered(3))
    await using warehouse = await opened(mega, { keepDays: 3, loads: 8 })
    const begin = () =>
      warehouse.loader.stage({ schema: 'health', table: word('other_'), columns: two, run: word(), attempt: 1 }, never)
    const loads = await Promise.all(Array.from({ length: 8 }, begin))
    await loadAll(scratch.warehouse, { table: word('filler_'), columns: two }, large(3))
    const written = await Promise.all(loads.map((load) => load.write(given(numbered(2)), never)))
    expect(written.map(({ rows }) => rows)).toEqual(Array.from({ length: 8 }, () => 2))
    for (const load of loads) await load[Symbol.asyncDispose]()
  }, 30_000)

  it('refuses an increment that copies a table larger than the free bytes', async () => {
    const [id, name] = two
    const keyed = [{ ...id!, primaryKey: true }, name!]
    await loadAll(scratch.warehouse, { table, columns: keyed }, large(4))
    await using warehouse = await opened(3 * mega)
    const target = { table, columns: [...keyed, ...columns({ village: 'TEXT' })], shape: { merging: true } }
    await using load = await stage(warehouse, target, [[1, 'x', 'y']])
    const publishing = warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    await expect(publishing).rejects.toMatchObject({ code: 'WAREHOUSE_FULL', retryable: false })
    expect(await rowsOf()).toBe(4096)
  })

  it('ends a dry run if the database lacks space for a copy of its rows', async () => {
    await using warehouse = await opened(12 * mega)
    {
      await using load = await stage(warehouse, { table, columns: two }, large(9))
      const statement = `delete from ${table} where id < 10`
      const running = warehouse.loader.transform([load], [{ statement }], never, { dry: true })
      await expect(running).rejects.toMatchObject({ code: 'WAREHOUSE_FULL' })
    }
    expect(await leftovers(scratch.superuser)).toEqual([])
  }, 30_000)

  it('is checked more often when less space is left', async () => {
    const countChecks = async (free: number, megabytes: number) => {
      let count = 0
      const chunks = (async function* (): AsyncGenerator<TupleChunk> {
        for (let at = 0; at < megabytes; at += 1) yield { bytes: { byteLength: mega } as Uint8Array }
      })()
      for await (const _ of checkWhileWriting(chunks, async () => ((count += 1), free)));
      return count
    }
    expect([
      await countChecks(mega, 1024),
      await countChecks(800 * mega, 1024),
      await countChecks(1024 ** 4, 1024),
    ]).toEqual([256, 11, 4])
  })
})
