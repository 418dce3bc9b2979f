import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { columns, loadAll, never, numbered, stage } from '../../test/row-fixtures.ts'
import {
  connectedAs,
  scratchWarehouse,
  scratchWarehouseForAll,
  type ScratchWarehouse,
  word,
} from '../../test/scratch-warehouse.ts'
import { openPostgresWarehouse } from './postgres-warehouse.ts'

const two = columns({ id: 'INTEGER', name: 'TEXT' })
const scratch = scratchWarehouseForAll()
let other: ScratchWarehouse
beforeAll(async () => {
  other = await scratchWarehouse()
  await other.warehouse.catalog.ensureSchema('private matters')
  await loadAll(other.warehouse, { schema: 'private matters', table: 'patients', columns: two }, numbered(1))
  await loadAll(scratch.warehouse, { table: 'cases', columns: two }, numbered(3))
})
afterAll(() => other?.[Symbol.asyncDispose]())

type Refusal = { code: string; message: string }
const refusal = (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => ({ code: 'DONE', message: '' }),
    (error: unknown) => error as Refusal,
  )

/** A transformation of a new table. */
async function transform(...statements: string[]): Promise<void> {
  await using load = await stage(scratch.warehouse, { table: word('t_'), columns: two }, numbered(2))
  await scratch.warehouse.loader.transform(
    [load],
    statements.map((statement) => ({ statement, description: '' })),
    never,
  )
}

const view = (query: string, more: object = {}) => ({
  id: randomUUID(),
  schema: 'health',
  name: word('v_'),
  materialized: true,
  query,
  ...more,
})
const define = (query: string, { seconds = 10, warehouse = scratch.warehouse } = {}) => {
  const made = view(query)
  return warehouse.views.define(made, { seconds }, never).then(() => made)
}

/** Processes of role `load` that are at work on something with this in it. */
const working = async (text: string) =>
  (
    await scratch.superuser.query(
      `select pid from pg_stat_activity where usename = $1 and state = 'active' and position($2 in query) > 0`,
      [scratch.access.load.user, text],
    )
  ).rows
/** Waits until there is one, or none. */
async function seen(text: string, count: 0 | 1): Promise<void> {
  while (Math.min((await working(text)).length, 1) !== count) await sleep(20)
}

/** Catches the server's time-out, and prevents the server from detecting the closed connection. */
const stubborn = `create or replace function health.stubborn() returns int language plpgsql as $$ begin
  perform set_config('client_connection_check_interval', '0', false);
  loop begin perform pg_sleep(1000); exception when query_canceled then null; end; end loop; end $$`

/** What would lead out of the client's database, or to more than role `load` has. */
const outside = [
  `copy (select 1) to program 'id'`,
  `copy (select 1) to '/tmp/out'`,
  `create table taken (line text); copy taken from '/etc/passwd'`,
  `copy cases from program 'id'`,
  'alter system set work_mem = 64',
  'alter database current set work_mem = 64',
  'create role mine superuser',
  'create role mine',
  'alter role current_user superuser',
  'set role postgres',
  'set session authorization default; set role pg_monitor',
  'set session_replication_role = replica',
  'set temp_file_limit = -1',
  `set log_statement = 'all'`,
  'create extension dblink',
  'create extension postgres_fdw',
  'create extension file_fdw',
  'create language plpython3u',
  `create function health.c() returns int language c as 'libc.so.6', 'getpid'`,
  `create function health.i() returns int language internal as 'pg_backend_pid'`,
  `create foreign data wrapper mine`,
  `create subscription mine connection 'dbname=postgres' publication all`,
  'create publication mine for all tables',
  'create event trigger mine on ddl_command_end execute function health.nothing()',
  `create tablespace mine location '/tmp'`,
  'create table public.mine ()',
  'create database mine',
  `load 'auto_explain'`,
  'checkpoint',
  `update sluice.ledger set attempt = 9`,
  'truncate sluice.ledger_table',
  'select * from sluice.ledger_key',
  `select sluice.enter_run('guessed', 'mine', 1)`,
  'drop function sluice.demand_key(text)',
  `create or replace function sluice.demand_key(key text) returns void language sql as 'select'`,
]

/** The same as one SELECT, as a view has it. */
const outsideInQueries = [
  'select rolpassword from pg_authid',
  'select passwd from pg_shadow',
  `select pg_read_file('/etc/passwd')`,
  `select pg_ls_dir('.')`,
  `select lo_import('/etc/passwd')`,
  'select lo_create(0)',
  `select lo_from_bytea(0, 'x')`,
  `select pg_notify('everything', 'hello')`,
  'select pg_advisory_lock(1)',
  'select pg_try_advisory_lock_shared(1)',
  'select pg_reload_conf()',
  'select pg_switch_wal()',
  `select set_config('temp_file_limit', '-1', true)::text`,
  `select set_config('session_replication_role', 'replica', true)`,
  `select set_config('role', 'postgres', true)`,
  `select set_config('session_authorization', 'postgres', true)`,
  'select digest from sluice.ledger_key',
  `select sluice.enter_run('guessed', 'mine', 1)`,
  `select query_to_xml('drop table health.cases', true, true, '')::text`,
  `select query_to_xml('select rolpassword from pg_authid', true, true, '')::text`,
]

describe('privileges of the SQL of editors, as role load', () => {
  it.each(outside.filter((text) => !text.includes(';')))('a transformation cannot run: %s', async (text) => {
    expect(await refusal(transform(text))).toMatchObject({ code: 'TRANSFORMATION_FAILED' })
  })

  it.each(outside.filter((text) => text.includes(';')))(
    'a transformation cannot run in separate statements: %s',
    async (text) => {
      expect(await refusal(transform(...text.split(';')))).toMatchObject({ code: 'TRANSFORMATION_FAILED' })
    },
  )

  it.each(outsideInQueries)('a transformation and a materialised view cannot run: %s', async (text) => {
    expect(await refusal(define(text))).toMatchObject({
      code: expect.stringMatching(/^(QUERY_FAILED|SQL_NOT_ALLOWED)$/),
    })
    expect(await refusal(transform(text))).toMatchObject({ code: 'TRANSFORMATION_FAILED' })
  })

  it('SQL cannot reach tables, roles, the database or sessions of another organisation', async () => {
    const { access } = other
    const place = `${access.database}."private matters".patients`
    expect(await refusal(define(`select * from ${place}`))).toMatchObject({ code: 'QUERY_FAILED' })
    expect(await refusal(transform(`create table stolen as select * from ${place}`))).toMatchObject({
      code: 'TRANSFORMATION_FAILED',
    })
    for (const role of [access.load.user, access.read.user, `${access.database}_owner`])
      expect(await refusal(transform(`set role ${role}`))).toMatchObject({ code: 'TRANSFORMATION_FAILED' })
    await expect(connectedAs(scratch.access, 'load', access.database)).rejects.toMatchObject({ code: '42501' })
    await using theirs = await connectedAs(access, 'load')
    for (const kill of ['pg_terminate_backend', 'pg_cancel_backend'])
      expect(
        await refusal(define(`select ${kill}(pid) from pg_stat_activity where usename = '${access.load.user}'`)),
      ).toMatchObject({ code: 'QUERY_FAILED' })
    const names = await define(`select coalesce(string_agg(query, ''), '') as queries from pg_stat_activity
      where usename <> current_user and query not like '<insufficient privilege>'`)
    expect((await scratch.warehouse.queries.readTable('health', names.name, { limit: 1, offset: 0 })).rows).toEqual([
      [''],
    ])
    expect((await theirs.query('select 1')).rowCount).toBe(1)
  })

  it('a function in a materialised view runs as a restricted operation at creation and refresh', async () => {
    await transform(`create function health.sly() returns int language plpgsql as $$ begin
      create temp table kept as select 1 as one; return 1; end $$`)
    expect(await refusal(define('select sly()'))).toMatchObject({
      code: 'QUERY_FAILED',
      message: expect.stringContaining('security-restricted operation'),
    })
    const later = await define('select id from cases')
    await transform(`create or replace function health.sly() returns int language sql as 'select 1'`)
    const { name } = await define('select sly() as one')
    await transform(`create or replace function health.sly() returns int language plpgsql as $$ begin
      perform set_config('role', '${scratch.access.read.user}', false); return 1; end $$`)
    expect(await refusal(scratch.warehouse.views.refresh('health', name, never))).toMatchObject({
      code: 'QUERY_FAILED',
    })
    expect(await scratch.warehouse.views.refresh('health', later.name, never)).toMatchObject({ rows: 3 })
  })

  it('settings that a view definition changes do not affect the next definition', async () => {
    await define(
      `select set_config('search_path', 'health', false) as one, set_config('statement_timeout', '1', false) as two`,
    )
    expect(await define('select pg_sleep(0.1)::text as slept')).toMatchObject({ schema: 'health' })
  })
})

describe('resource limits of the SQL of editors', () => {
  it('a view with a function that catches the time-out is stopped and fails with QUERY_TIMEOUT', async () => {
    await transform(stubborn)
    expect(await refusal(define('select stubborn() as one', { seconds: 1 }))).toMatchObject({ code: 'QUERY_TIMEOUT' })
    await seen('stubborn()', 0)
  })

  it('a cancelled refresh or transformation ends on the server if a function catches the cancellation', async () => {
    await transform(`create or replace function health.stubborn() returns int language sql as 'select 1'`)
    const { name } = await define('select stubborn() as one')
    await transform(stubborn)
    const refreshing = new AbortController()
    const refreshed = refusal(scratch.warehouse.views.refresh('health', name, refreshing.signal))
    await seen(name, 1)
    refreshing.abort(new Error('cancelled'))
    expect(await refreshed).toMatchObject({ message: 'cancelled' })
    await seen(name, 0)

    await using load = await stage(scratch.warehouse, { table: word('t_'), columns: two }, numbered(2))
    const transforming = new AbortController()
    const statement = 'select health.stubborn() as transformed'
    const transformed = refusal(
      scratch.warehouse.loader.transform([load], [{ statement, description: '' }], transforming.signal),
    )
    await seen(statement, 1)
    transforming.abort(new Error('cancelled'))
    expect(await transformed).toMatchObject({ message: 'cancelled' })
    await seen(statement, 0)
  })

  it('a materialised view above the size limit is not created, or keeps its old rows on a refresh', async () => {
    await using small = openPostgresWarehouse(scratch.access, { viewBytes: 1_000_000 })
    const large = `select id, repeat(md5(id::text), 40) as text from generate_series(1, 5000) id`
    expect(await refusal(define(large, { warehouse: small }))).toMatchObject({
      code: 'RESULT_TOO_LARGE',
      message: expect.stringMatching(/^"health"\."v_\w+" would take [\d,]+ MB, and a materialised view may take 1\./),
    })
    const table = word('grows_')
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(10))
    const grows = await define(`select id, repeat(md5(id::text), 40) as text from ${table}`, { warehouse: small })
    await loadAll(scratch.warehouse, { table, columns: two }, numbered(5_000))
    const again = await refusal(small.views.refresh('health', grows.name, never))
    expect(again).toMatchObject({ code: 'RESULT_TOO_LARGE' })
    expect(await scratch.warehouse.views.find('health', grows.name)).toMatchObject({ rowCount: 10 })
    const { rows } = await scratch.superuser.query(`select from pg_class where relname like 'sluice\\_%'`)
    expect(rows).toEqual([])
  })

  it('a query fails with DISK_FULL when its temporary files exceed the limit', async () => {
    const { user } = scratch.access.load
    const sorting = 'select count(*) from (select md5(i::text) as m from generate_series(1, 300000) i order by 1) s'
    await scratch.superuser.query(`alter role ${user} set temp_file_limit = '1MB'`)
    try {
      await using strict = openPostgresWarehouse(scratch.access)
      expect(await refusal(define(sorting, { warehouse: strict }))).toMatchObject({ code: 'DISK_FULL' })
    } finally {
      await scratch.superuser.query(`alter role ${user} set temp_file_limit = '20GB'`)
    }
  })
})
