import { getPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { columns, never } from '../../../test/row-fixtures.ts'
import { scratchWarehouseForAll, word } from '../../../test/scratch-warehouse.ts'
import { binary, numberedTuples, tuple } from '../../../test/copy-tuples.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })
const large = { size: 1 << 30 }

describe('copying binary tuples', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(() => {
    table = word('cases_')
  })

  const targeted = (attempt = 1) => ({ schema: 'health', table, columns: two, run: word('run'), attempt })
  const begin = (attempt = 1) => scratch.warehouse.loader.stage(targeted(attempt), never)
  const rowsIn = async (staging: string) =>
    (
      await scratch.superuser.query(
        `select count(*)::int, sum(id)::float8, count(distinct xmin::text)::int as writers,
           count(*) filter (where name = $1)::int as right from sluice."${staging}"`,
        ['é'.repeat(40)],
      )
    ).rows[0]
  const copying = async () =>
    (
      await scratch.superuser.query(
        `select pid from pg_stat_activity where application_name = 'sluice copy' and datname = current_database()`,
      )
    ).rows
  const name = 'é'.repeat(40)

  it.each([
    ['a small source over one connection', 1_000, {}, 1, 1],
    ['a large source over two connections', 300_000, large, 1, 2],
    ['a large source of unknown size over one connection and then two connections', 1_000_000, { size: 10 }, 1, 3],
    ['a large source over one connection on a retry', 300_000, large, 2, 1],
    ['an empty source', 0, large, 1, 0],
  ])('copies %s', async (_, count, size, attempt, writers) => {
    await using load = await begin(attempt)
    const written = await load.write(
      binary(() => numberedTuples(count, name), size),
      never,
    )
    expect(written).toEqual({ rows: count, bytes: count * (2 + 8 + 4 + 80), superseded: 0 })
    expect(await rowsIn(load.stagingTable)).toEqual({
      count,
      sum: count ? (count * (count + 1)) / 2 : null,
      writers,
      right: count,
    })
  })

  it('releases small chunks only after their bytes were sent', async () => {
    await using load = await begin()
    await load.write(
      binary(() => numberedTuples(20_000, name, 7), large),
      never,
    )
    expect(await rowsIn(load.stagingTable)).toMatchObject({ count: 20_000, right: 20_000 })
  })

  it('holds at most five chunks at the same time, and releases all of them', async () => {
    await using load = await begin()
    await scratch.superuser.query('select pg_advisory_lock(5)')
    await scratch.superuser.query(`create or replace function wait_for_test() returns trigger language plpgsql security definer as
      $$ begin perform pg_advisory_xact_lock_shared(5); return new; end $$;
      create trigger wait_for_test before insert on sluice."${load.stagingTable}" for each row execute function wait_for_test()`)
    let [out, most, isBlocked] = [0, 0, false]
    async function* counted() {
      // Far more than the sockets buffer.
      for await (const { bytes } of numberedTuples(4_000_000, name)) {
        if (isBlocked) return
        most = Math.max(most, (out += 1))
        yield { bytes, release: () => void (out -= 1) }
      }
    }
    const writing = load.write(binary(counted, large), never)
    await Promise.race([writing, until(() => out === 5)])
    isBlocked = true
    await scratch.superuser.query('select pg_advisory_unlock(5)')
    await writing
    expect([out, most]).toEqual([0, 5])
  })

  it.each(['aborted', 'cut off'])('drops the staging table when a load over two connections is %s', async (how) => {
    const cancel = new AbortController()
    const load = await begin()
    async function* endless() {
      for (;;) {
        yield* numberedTuples(10_000)
        await sleep(1)
      }
    }
    const writing = load.write(binary(endless, large), cancel.signal)
    const refused = expect(writing).rejects.toMatchObject(
      how === 'aborted' ? { message: 'by hand' } : { code: 'WAREHOUSE_UNAVAILABLE', retryable: true },
    )
    const connections = await until(async () => {
      const found = await copying()
      return found.length >= 2 && found
    })
    expect(connections).toHaveLength(2)
    const start = performance.now()
    if (how === 'aborted') cancel.abort(new Error('by hand'))
    else await scratch.superuser.query('select pg_terminate_backend($1)', [connections[1]!.pid])
    await refused
    await load[Symbol.asyncDispose]()
    await until(async () => (await copying()).length === 0)
    expect(performance.now() - start).toBeLessThan(30_000)
    expect(
      (await scratch.superuser.query('select from pg_class where relname = $1', [load.stagingTable])).rowCount,
    ).toBe(0)
  })

  it('runs every session with the configured niceness if the server is on this machine', async () => {
    const niceness = 7
    const { load, read } = scratch.access
    const sessions = async () =>
      (
        await scratch.superuser.query<{ pid: number; usename: string }>(
          'select pid, usename from pg_stat_activity where usename in ($1, $2)',
          [load.user, read.user],
        )
      ).rows
    const before = new Set((await sessions()).map(({ pid }) => pid))
    const nicenessOf = async (user: string) =>
      (await sessions())
        .filter(({ pid, usename }) => usename === user && !before.has(pid))
        .map(({ pid }) => getPriority(pid))
    await using nice = openPostgresWarehouse({ ...scratch.access, niceness })
    await using open = await nice.loader.stage(targeted(), never)
    let whileCopied: number[] = []
    async function* watched() {
      yield* numberedTuples(10, name)
      await sleep(200)
      whileCopied = await nicenessOf(load.user)
    }
    await open.write(binary(watched, large), never)
    expect(whileCopied.length).toBeGreaterThan(2)
    expect(new Set(whileCopied)).toEqual(new Set([niceness]))

    const query = nice.queries.query({ text: 'select pg_sleep(0.5)::text as slept' }, never)
    await until(async () => (await nicenessOf(read.user)).length > 0)
    await sleep(50)
    expect(await nicenessOf(read.user)).toEqual([niceness])
    await query
  })

  // Often, since two that ask for one place at once may keep each other out of it.
  it.each(Array.from({ length: 10 }, (_, time) => time + 1))(
    'uses one connection if the server refuses a second one (repetition %i)',
    async () => {
      const user = scratch.access.load.user
      await using fresh = openPostgresWarehouse(scratch.access)
      await fresh.upkeep.check()
      await using load = await fresh.loader.stage(targeted(), never)
      // Those of this moment, idle or not, and one more.
      const { rows } = await scratch.superuser.query(
        'select count(*)::int as now from pg_stat_activity where usename = $1',
        [user],
      )
      await scratch.superuser.query(`alter role ${user} connection limit ${rows[0].now + 1}`)
      try {
        await load.write(
          binary(() => numberedTuples(10_000, name), large),
          never,
        )
        expect(await rowsIn(load.stagingTable)).toMatchObject({ count: 10_000, right: 10_000, writers: 1 })
      } finally {
        await scratch.superuser.query(`alter role ${user} connection limit 220`)
      }
    },
  )

  it('names the column of a value that does not fit', async () => {
    await using load = await begin()
    async function* odd() {
      yield { bytes: tuple([1, 'a']) }
      yield { bytes: tuple(['abc', 'a']) }
    }
    await expect(load.write(binary(odd, large), never)).rejects.toMatchObject({
      code: 'BAD_VALUE',
      message: expect.stringMatching(/^The warehouse cannot store a value of .*, column "id":/),
    })
  })

  it('fails with DISK_FULL when the disk is full, and drops the staging table', async () => {
    const load = await begin()
    await scratch.superuser.query(`create or replace function full_disk() returns trigger language plpgsql as
      $$ begin if new.id = 5000 then raise 'could not extend file' using errcode = '53100'; end if; return new; end $$;
      create trigger full_disk before insert on sluice."${load.stagingTable}" for each row execute function full_disk()`)
    await expect(
      load.write(
        binary(() => numberedTuples(100_000), large),
        never,
      ),
    ).rejects.toMatchObject({
      code: 'DISK_FULL',
      retryable: false,
      message: expect.stringContaining('is full'),
    })
    await load[Symbol.asyncDispose]()
    expect(
      (await scratch.superuser.query('select from pg_class where relname = $1', [load.stagingTable])).rowCount,
    ).toBe(0)
  })
})
