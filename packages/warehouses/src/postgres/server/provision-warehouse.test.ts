import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  connected,
  connectedAs,
  scratchServer,
  type ScratchServer,
  superuserUrl,
  word,
} from '../../../test/scratch-warehouse.ts'
import type { WarehouseAccess } from '../postgres-connections.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'
import { provisionWarehouse } from './provision-warehouse.ts'

describe('a provisioned PostgreSQL warehouse', () => {
  let server: ScratchServer
  let alice: WarehouseAccess
  let bob: WarehouseAccess

  beforeAll(async () => {
    server = await scratchServer()
    ;[alice, bob] = [await server.provision(), await server.provision()]
    await using warehouse = openPostgresWarehouse(alice)
    await warehouse.catalog.ensureSchema('health')
    await using load = await connectedAs(alice, 'load')
    await load.query('create table health.cases (id int); insert into health.cases values (1), (2)')
    await load.query('create table sluice.hidden (id int)')
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  it('is the same when it is provisioned twice at the same time, and once more later', async () => {
    const key = word()
    const passwords = { loadPassword: 'load-password', readPassword: 'read-password' }
    const both = await Promise.all([server.provision(key, passwords), server.provision(key, passwords)])
    expect(both[0]).toEqual(both[1])
    expect(await server.provision(key, passwords)).toEqual(both[0])
    await using load = await connectedAs(both[0], 'load')
    expect((await load.query('select current_database() as name')).rows).toEqual([{ name: `c_${key}` }])
  })

  it('accepts new passwords with special characters, and rejects the old passwords', async () => {
    const key = word()
    const before = await server.provision(key)
    const after = await server.provision(key, {
      loadPassword: `it's "a" \\ $1 %I`.replaceAll(' ', '_'),
      readPassword: 'another-one',
    })
    await using load = await connectedAs(after, 'load')
    expect((await load.query('select 1')).rowCount).toBe(1)
    await expect(connectedAs(before, 'load')).rejects.toMatchObject({ code: '28P01' })
    await expect(connectedAs(before, 'read')).rejects.toMatchObject({ code: '28P01' })
  })

  it.each(['', 'A', 'a b', 'x"; drop', 'a'.repeat(41), 'a_b'])('rejects the key %j', async (key) => {
    await expect(
      provisionWarehouse(server.adminUrl, { key, loadPassword: 'x'.repeat(16), readPassword: 'x'.repeat(16) }),
    ).rejects.toMatchObject({
      code: 'INVALID_NAME',
    })
  })

  it('rejects an existing database of its name that Sluice did not create', async () => {
    const key = word()
    await using superuser = await connected(superuserUrl())
    await superuser.query(`create database c_${key}`)
    await expect(server.provision(key)).rejects.toMatchObject({ code: 'WAREHOUSE_NOT_OURS' })
  })

  it('fails with a retryable WAREHOUSE_UNAVAILABLE if the server is unreachable', async () => {
    const away = new URL(server.adminUrl)
    away.port = '1'
    const client = { key: word(), loadPassword: 'load-password', readPassword: 'read-password' }
    await expect(provisionWarehouse(away.href, client)).rejects.toMatchObject({
      code: 'WAREHOUSE_UNAVAILABLE',
      retryable: true,
    })
  })

  it('fails within 8 seconds if the server accepts connections but does not respond', async () => {
    await using silent = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const began = performance.now()
    const client = { key: word(), loadPassword: 'load-password', readPassword: 'read-password' }
    const provisioned = provisionWarehouse(`postgres://admin:nothing@127.0.0.1:${port}/none?sslmode=disable`, client)
    await expect(provisioned).rejects.toMatchObject({ code: 'WAREHOUSE_UNAVAILABLE', retryable: true })
    expect(performance.now() - began).toBeLessThan(8_000)
  })

  it('keeps no plaintext password on the server', async () => {
    await using superuser = await connected(superuserUrl())
    const { rows } = await superuser.query('select rolpassword from pg_authid where rolname = $1', [alice.load.user])
    expect(rows[0].rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/)
  })

  it('denies roles of another organisation access to its database', async () => {
    for (const role of ['load', 'read'] as const) {
      await expect(connectedAs(bob, role, alice.database)).rejects.toMatchObject({ code: '42501' })
    }
  })

  it('denies its roles access to databases without the CONNECT privilege of PUBLIC', async () => {
    await using superuser = await connected(superuserUrl())
    const metadata = word('metadata_')
    await superuser.query(`create database ${metadata}`)
    await superuser.query(`revoke connect on database ${metadata} from public`)
    for (const role of ['load', 'read'] as const) {
      await expect(connectedAs(alice, role, metadata)).rejects.toMatchObject({ code: '42501' })
    }
    await superuser.query(`drop database ${metadata}`)
  })

  it('gives its roles no membership but in the one for reserved connections, and no administrative attributes', async () => {
    await using superuser = await connected(superuserUrl())
    const { rows } = await superuser.query(
      `select r.rolname as member, g.rolname as "memberOf" from pg_auth_members m
       join pg_roles r on r.oid = m.member join pg_roles g on g.oid = m.roleid where r.rolname like $1 order by 1`,
      [`${alice.database}\\_%`],
    )
    const memberOf = 'pg_use_reserved_connections'
    expect(rows).toEqual(['load', 'read'].map((role) => ({ member: `${alice.database}_${role}`, memberOf })))
    const attributes = 'rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls'
    expect(
      (
        await superuser.query(`select from pg_roles where rolname like $1 and (${attributes})`, [
          `${alice.database}\\_%`,
        ])
      ).rowCount,
    ).toBe(0)
  })

  it('allows role read to read published tables, and denies everything else', async () => {
    await using read = await connectedAs(alice, 'read')
    expect((await read.query('select count(*)::int from health.cases')).rows).toEqual([{ count: 2 }])
    await read.query('set default_transaction_read_only = off')
    const refused = [
      'select * from sluice.hidden',
      'select * from sluice.ledger',
      `insert into health.cases values (3)`,
      'delete from health.cases',
      'create table health.mine (id int)',
      'create table public.mine (id int)',
      'create temp table mine (id int)',
      'create schema mine',
      `set role ${alice.load.user}`,
      `select set_config('role', '${bob.read.user}', false)`,
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${alice.load.user}'`,
      `copy health.cases to program 'id'`,
      `select pg_read_file('/etc/passwd')`,
      'select * from pg_authid',
      `alter role ${alice.read.user} connection limit -1`,
      `set temp_file_limit = -1`,
      'select lo_create(0)',
      `select pg_notify('a', 'b')`,
      'select pg_advisory_lock(1)',
      'select pg_try_advisory_xact_lock_shared(1)',
    ]
    await using keep = await connectedAs(alice, 'load')
    for (const text of refused) {
      await expect([
        text,
        await read.query(text).then(
          () => 'done',
          (error: { code: string }) => error.code,
        ),
      ]).toEqual([text, '42501'])
    }
    expect((await keep.query('select 1')).rowCount).toBe(1)
  })

  it('denies role load write access to the ledger and to schema public, and dropping the database', async () => {
    await using load = await connectedAs(alice, 'load')
    const refused = [
      'delete from sluice.ledger',
      `insert into sluice.ledger (run, attempt) values ('x', 1)`,
      `insert into sluice.ledger_table (run) values ('x')`,
      'select * from sluice.ledger_key',
      `update sluice.ledger set run = 'x'`,
      'truncate sluice.ledger_table',
      'drop table sluice.ledger',
      'create table public.mine (id int)',
      `alter database ${alice.database} connection limit 1`,
      `create extension dblink`,
    ]
    for (const text of refused) {
      await expect([
        text,
        await load.query(text).then(
          () => 'done',
          (error: { code: string }) => error.code,
        ),
      ]).not.toContain('done')
    }
    await using elsewhere = await connectedAs(alice, 'load', 'postgres')
    await expect(elsewhere.query(`drop database ${alice.database}`)).rejects.toMatchObject({ code: '42501' })
  })

  it('detects settings that a role changed for its own sessions, and resets them when provisioned again', async () => {
    const key = word()
    const passwords = { loadPassword: 'load-password', readPassword: 'read-password' }
    const access = await server.provision(key, passwords)
    await using warehouse = openPostgresWarehouse(access)
    await warehouse.upkeep.check()
    await using superuser = await connected(superuserUrl())
    for (const where of ['', `in database ${access.database} `])
      for (const setting of [`transaction_timeout = '1ms'`, `client_connection_check_interval = 0`, 'work_mem = 64']) {
        await superuser.query(`alter role ${access.load.user} ${where}set ${setting}`)
        await expect(warehouse.upkeep.check()).rejects.toMatchObject({ code: 'WAREHOUSE_OUTDATED' })
        await server.provision(key, passwords)
        await warehouse.upkeep.check()
      }
    await using load = await connectedAs(access, 'load')
    expect((await load.query('show transaction_timeout')).rows).toEqual([{ transaction_timeout: '0' }])
  })

  it('limits connections, time-outs and temporary files of role read', async () => {
    await using read = await connectedAs(alice, 'read')
    const { rows } = await read.query(`select name, setting from pg_settings where name in
      ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'temp_file_limit', 'client_connection_check_interval') order by name`)
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))).toEqual({
      client_connection_check_interval: 1000,
      idle_in_transaction_session_timeout: 60_000,
      lock_timeout: 5000,
      statement_timeout: 30_000,
      temp_file_limit: 2 * 1024 * 1024,
    })
    const { rows: limits } = await read.query('select rolconnlimit from pg_roles where rolname = current_user')
    expect(limits).toEqual([{ rolconnlimit: 20 }])
  })
})
