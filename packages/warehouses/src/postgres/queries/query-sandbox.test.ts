import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import { columns, loadAll, never } from '../../../test/row-fixtures.ts'
import {
  connectedAs,
  scratchWarehouse,
  scratchWarehouseForAll,
  type ScratchWarehouse,
} from '../../../test/scratch-warehouse.ts'
import type { UserQuery } from '../../warehouse.ts'

/** Row 22 of the fault list, and section 7: each of them is tried, none gets anywhere, and nothing stays behind. */
describe('a query that tries to do more than read', () => {
  const scratch = scratchWarehouseForAll()
  let other: ScratchWarehouse
  let before: unknown
  beforeAll(async () => {
    other = await scratchWarehouse()
    await other.warehouse.catalog.ensureSchema('private matters')
    const one = columns({ id: 'INTEGER' })
    await loadAll(other.warehouse, { schema: 'private matters', table: 'patients', columns: one }, [[1]])
    await loadAll(scratch.warehouse, { table: 'cases', columns: one }, [[1], [2], [3]])
    before = await traces()
  })
  afterAll(() => other?.[Symbol.asyncDispose]())

  /** Whatever SQL could leave on a server. */
  const traces = async () => {
    const { rows } = await scratch.superuser.query(
      `select (select count(*) from pg_class where relnamespace <> 'pg_toast'::regnamespace) as relations,
         (select count(*) from pg_proc) as functions, (select count(*) from pg_namespace) as schemas,
         (select count(*) from pg_largeobject_metadata) as objects, (select count(*) from pg_roles where starts_with(rolname, current_database())) as roles,
         (select count(*) from pg_prepared_xacts) as prepared, (select count(*) from pg_extension) as extensions,
         (select count(*) from pg_locks l join pg_database d on d.oid = l.database where locktype = 'advisory' and datname = current_database()) as locks,
         (select string_agg(setconfig::text, ';' order by setrole) from pg_db_role_setting
          where setrole = $1::regrole) as settings,
         (select array_agg(id order by id) from health.cases) as rows`,
      [scratch.access.read.user],
    )
    return rows[0]
  }
  const readers = async () =>
    (await scratch.superuser.query('select query from pg_stat_activity where usename = $1', [scratch.access.read.user]))
      .rows
  /** Waits until the server has ended the sessions of all readers. */
  const nobody = () => until(async () => (await readers()).length === 0, { within: 30_000 })
  const ask = (text: string, more: Partial<UserQuery> = {}) =>
    scratch.warehouse.queries.query({ text, schemas: ['health'], limits: { seconds: 1 }, ...more })
  const refusal = (text: string, more?: Partial<UserQuery>): Promise<{ code: string; message: string }> =>
    ask(text, more).then(
      ({ rows }) => ({ code: 'ANSWERED', message: JSON.stringify(rows) }),
      (error: unknown) => error as { code: string; message: string },
    )

  it.each([
    'commit',
    'rollback',
    'select 1; commit',
    'select 1; commit; drop table cases',
    'begin',
    'savepoint a',
    'insert into cases values (9)',
    'delete from cases returning id',
    'with gone as (delete from cases returning id) select * from gone',
    'with made as (insert into cases values (9) returning id) select * from made',
    'select 1) x; drop table cases; --',
    'create temp table t (id int)',
    'create table health.t (id int)',
    'truncate cases',
    'drop table cases',
    'alter role current_user set statement_timeout = 0',
    'set role none',
    'set session authorization default',
    'set transaction read write',
    'set statement_timeout = 0',
    'reset all',
    'discard all',
    'lock table cases',
    "copy cases to program 'id'",
    "copy (select 1) to '/tmp/out'",
    "copy cases from program 'id'",
    "do $$ begin perform set_config('transaction_read_only', 'off', true); end $$",
    'prepare p as select 1',
    'execute p',
    'declare c cursor with hold for select 1',
    'fetch all from page',
    'close page',
    'listen everything',
    "notify everything, 'hello'",
    'explain analyze delete from cases',
    'vacuum cases',
    'call nothing()',
    "load 'auto_explain'",
    'create extension dblink',
    'select * from cases for update',
    'select * from cases for share',
  ])('is rejected with SQL_NOT_ALLOWED if it is %j', async (text) => {
    expect(await refusal(text)).toMatchObject({ code: 'SQL_NOT_ALLOWED' })
  })

  it.each([
    'select rolpassword from pg_authid',
    'select passwd from pg_shadow',
    'select * from sluice.ledger',
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('PG_VERSION')",
    "select pg_ls_dir('.')",
    "select pg_stat_file('PG_VERSION')",
    "select lo_import('/etc/passwd')",
    'select lo_create(0)',
    "select lo_from_bytea(0, 'x')",
    "select pg_notify('everything', 'hello')",
    'select pg_advisory_lock(1)',
    'select pg_try_advisory_lock(1)',
    'select pg_advisory_xact_lock(1)',
    'select pg_reload_conf()',
    'select pg_rotate_logfile()',
    'select pg_switch_wal()',
    "select pg_create_restore_point('here')",
    "select set_config('log_statement', 'all', false)",
    "select set_config('session_replication_role', 'replica', true)",
    "select set_config('temp_file_limit', '-1', true)",
    "select query_to_xml('select rolpassword from pg_authid', true, true, '')",
    'select * from (delete from cases returning id) x',
    'select id into temp copy from cases',
    'select id into health.copy from cases',
    "select ts_stat('select 1::text::tsvector from pg_authid')",
  ])('is rejected if it is %j, which role read must not run', async (text) => {
    expect(await refusal(text)).toMatchObject({ code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/) })
  })

  it.each(['transaction_read_only', 'default_transaction_read_only'])(
    'cannot write after it turned %s off',
    async (name) => {
      const write = "query_to_xml('delete from cases returning id', true, true, '')"
      const text = `select ${write} from (select set_config('${name}', 'off', false)) x`
      expect(await refusal(text)).toMatchObject({ code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/) })
    },
  )

  it('cannot switch to another role, including role load of its own organisation', async () => {
    for (const role of [
      scratch.access.load.user,
      other.access.read.user,
      other.access.load.user,
      'postgres',
      'pg_monitor',
    ])
      for (const name of ['role', 'session_authorization']) {
        const text = `select query_to_xml('select current_user', true, true, '') from (select set_config('${name}', '${role}', true)) x`
        expect(await refusal(text)).toMatchObject({ code: expect.stringMatching(/^(SQL_NOT_ALLOWED|QUERY_FAILED)$/) })
      }
  })

  it('cannot see schemas, tables or queries of another organisation, or connect to its database', async () => {
    const names = `select nspname from pg_namespace union select relname from pg_class
      union select query from pg_stat_activity where usename <> current_user`
    expect(JSON.stringify((await ask(names)).rows)).not.toMatch(/private matters|patients/)
    expect(await refusal(`select * from ${other.access.database}."private matters".patients`)).toMatchObject({
      code: 'SQL_NOT_ALLOWED',
    })
    expect(await refusal(`select dblink('dbname=${other.access.database}', 'select 1')`)).toMatchObject({
      code: 'QUERY_FAILED',
    })
    await expect(connectedAs(scratch.access, 'read', other.access.database)).rejects.toThrow(/permission denied/)
  })

  it('cannot terminate or cancel sessions of role load of its own organisation', async () => {
    await using load = await connectedAs(scratch.access, 'load')
    for (const kill of ['pg_terminate_backend', 'pg_cancel_backend'])
      expect(
        await refusal(`select ${kill}(pid) from pg_stat_activity where usename = '${scratch.access.load.user}'`),
      ).toMatchObject({ code: 'SQL_NOT_ALLOWED' })
    expect((await load.query('select 1')).rowCount).toBe(1)
  })

  it('cannot advance or set a sequence', async () => {
    await using load = await connectedAs(scratch.access, 'load')
    await load.query('create sequence health.numbers')
    await load.query(`grant usage, update on sequence health.numbers to ${scratch.access.read.user}`)
    for (const text of ["select nextval('numbers')", "select setval('numbers', 100)"])
      expect(await refusal(text)).toMatchObject({ code: 'SQL_NOT_ALLOWED' })
    await load.query('drop sequence health.numbers')
  })

  it.each([
    ['sleeps', 'select pg_sleep(1000)'],
    ['counts a billion rows', 'select count(*) from generate_series(1, 1000000000)'],
    ['sorts a billion rows', 'select * from generate_series(1, 1000000000) order by 1 desc'],
    ['fetches ten gigabytes at once', `select repeat('x', 100000000), generate_series(1, 100)`],
    [
      'joins everything',
      'select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 1000) c',
    ],
    ['recurses without an end', 'with recursive x(n) as (select 1 union all select 1 from x) select max(n) from x'],
    ['raises its own limit', "select set_config('statement_timeout', '0', false), pg_sleep(1000)"],
    [
      'takes too long for its first row',
      'select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b',
    ],
  ])('is stopped by the time limit or the size limit when it %s', async (_what, text) => {
    const begun = Date.now()
    expect(await refusal(text)).toEqual(
      expect.objectContaining({ code: expect.stringMatching(/^(QUERY_TIMEOUT|RESULT_TOO_LARGE)$/) }),
    )
    expect(Date.now() - begun).toBeLessThan(30_000)
    await nobody()
  })

  it('is stopped by the time limit after it cleared statement_timeout in its first row', async () => {
    const text = `select set_config('statement_timeout', '0', false), case when i > 1 then pg_sleep(1000) end from generate_series(1, 3) i`
    expect(await refusal(text, { limits: { seconds: 1, offset: 1 } })).toMatchObject({ code: 'QUERY_TIMEOUT' })
  })

  it('is stopped if a function catches the time-out and disables the connection check', async () => {
    await using load = await connectedAs(scratch.access, 'load')
    await load.query(`create function health.stubborn() returns int language plpgsql as $$ begin
        perform set_config('client_connection_check_interval', '0', false);
        loop begin perform pg_sleep(1000); exception when query_canceled then null; end; end loop; end $$;
      grant execute on function health.stubborn() to ${scratch.access.read.user}`)
    expect(await refusal('select stubborn()')).toEqual(
      expect.objectContaining({
        code: 'QUERY_TIMEOUT',
        message: 'The query took longer than 1 second and was stopped. Select fewer rows or simplify the query.',
      }),
    )
    await nobody()
    await load.query('drop function health.stubborn()')
  })

  it('cannot write through a SECURITY DEFINER function', async () => {
    await using load = await connectedAs(scratch.access, 'load')
    await load.query(`create function health.sly() returns int language sql security definer as 'delete from health.cases returning id';
      grant execute on function health.sly() to ${scratch.access.read.user}`)
    expect(await refusal('select sly()')).toMatchObject({ code: 'SQL_NOT_ALLOWED' })
    await load.query('drop function health.sly()')
  })

  it('is truncated or stopped when its result has ten gigabytes, without filling memory or disk', async () => {
    const text = `select repeat('x', 1000000), generate_series(1, 10000)`
    const used = process.memoryUsage().rss
    expect(await ask(text, { limits: {} })).toMatchObject({ truncated: true, more: true })
    await scratch.superuser.query(`alter role ${scratch.access.read.user} set temp_file_limit = '20MB'`)
    try {
      const pages = async () => {
        for await (const _ of scratch.warehouse.queries.queryPages({ text }, 10, never));
      }
      await expect(pages()).rejects.toMatchObject({ code: 'RESULT_TOO_LARGE' })
    } finally {
      await scratch.superuser.query(`alter role ${scratch.access.read.user} set temp_file_limit = '2GB'`)
    }
    expect(process.memoryUsage().rss - used).toBeLessThan(200_000_000)
  })

  it('ends on the server when its signal aborts', async () => {
    const asking = new AbortController()
    const asked = scratch.warehouse.queries.query({ text: 'select pg_sleep(1000)' }, asking.signal)
    await until(async () => (await readers()).length > 0)
    asking.abort(new Error('gone'))
    await expect(asked).rejects.toThrow('gone')
    await nobody()
  })

  it('runs at the same time as at most two others of an organisation, and waits until one of three ends', async () => {
    const active = async () => {
      const text = `select from pg_stat_activity where usename = $1 and state = 'active'`
      return (await scratch.superuser.query(text, [scratch.access.read.user])).rowCount
    }
    const stops = Array.from({ length: 3 }, () => new AbortController())
    const sleeping = { text: 'select pg_sleep(1000)', limits: { seconds: 120 } }
    const busy = stops.map(({ signal }) =>
      expect(scratch.warehouse.queries.query(sleeping, signal)).rejects.toThrow('stopped'),
    )
    await until(async () => (await active()) === 3)
    let hasEnded = false
    const fourth = ask('select 4 as id').finally(() => {
      hasEnded = true
    })
    // Each query opens a session. Without a limit, the fourth one ends before three later ones of another organisation.
    for (let round = 0; round < 3; round += 1) {
      await other.warehouse.queries.query({ text: 'select 1', schemas: ['private matters'] })
      expect([await active(), hasEnded]).toEqual([3, false])
    }
    stops[0]!.abort(new Error('stopped'))
    expect((await fourth).rows).toEqual([[4]])
    for (const stop of stops) stop.abort(new Error('stopped'))
    await Promise.all(busy)
  })

  it('leaves no relations, roles, settings or locks on the server', async () => {
    await nobody()
    expect(await traces()).toEqual(before)
  })
})
