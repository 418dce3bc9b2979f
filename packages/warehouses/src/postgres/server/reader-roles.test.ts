import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readersSuite, type ReaderSubject } from '../../../test/readers-suite.ts'
import { columns, loadAll, never, numbered } from '../../../test/row-fixtures.ts'
import {
  connected,
  connectedAs,
  scratchServer,
  type ScratchServer,
  superuserUrl,
  word,
} from '../../../test/scratch-warehouse.ts'
import { newReaderLogin, newReaderPassword } from '../../warehouse-reader-logins.ts'
import type { Warehouse, WarehouseCredentials } from '../../warehouse.ts'
import { qualifyName } from '../sql-identifiers.ts'
import type { WarehouseAccess } from '../postgres-connections.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'
import { removeWarehouse } from './provision-warehouse.ts'
import { postgresReaders } from './reader-roles.ts'

interface Tenant {
  client: WarehouseCredentials
  access: WarehouseAccess
  warehouse: Warehouse
}

describe('the readers of a PostgreSQL server', () => {
  let server: ScratchServer
  let own: Tenant
  let other: Tenant
  beforeAll(async () => {
    server = await scratchServer()
    ;[own, other] = [await tenant(), await tenant()]
    await other.warehouse.catalog.ensureSchema('health')
  })
  afterAll(async () => {
    for (const one of [own, other]) await one?.warehouse[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  async function tenant(): Promise<Tenant> {
    const client = { key: word(), loadPassword: word('load-'), readPassword: word('read-') }
    const access = await server.provision(client.key, client)
    return { client, access, warehouse: openPostgresWarehouse(access, { waitMs: 30_000 }) }
  }
  const readers = () => postgresReaders(server.adminUrl)
  const connect = async (user: string, password: string, database = own.access.database) => {
    const { host, port } = own.access
    return connected({ host, port, database, user, password })
  }
  async function newReader(schemas: string[]) {
    const [login, password] = [newReaderLogin(own.client.key), newReaderPassword()]
    await readers().define(own.client, { login, schemas, active: true }, password)
    return { login, password }
  }
  const codeOf = (attempt: Promise<unknown>) =>
    attempt.then(() => 'done').catch((error: { code: string }) => error.code)

  const subject: ReaderSubject = {
    get warehouse() {
      return own.warehouse
    },
    get client() {
      return own.client
    },
    get readers() {
      return readers()
    },
    get neighbour() {
      return other
    },
    async connect(login, password) {
      const session = await connect(login, password)
      return {
        read: async (query) =>
          (await session.query<unknown[]>({ text: query, rowMode: 'array' })).rows.map(([first]) => first),
        [Symbol.asyncDispose]: () => session.end(),
      }
    },
    place: (schema, table, client) =>
      client ? `c_${client.key}.${qualifyName(schema, table)}` : qualifyName(schema, table),
    forbidden: (table) => ['select * from sluice.ledger', `delete from ${table}`],
  }
  readersSuite(subject)

  it('write nothing and take no other role, even in sessions that are not read-only', async () => {
    const { login, password } = await newReader(['health'])
    await using session = await connect(login, password)
    await using load = await connectedAs(own.access, 'load')
    await session.query('set default_transaction_read_only = off')
    const { key } = own.client
    const refused = [
      'select * from sluice.ledger',
      'select * from sluice.ledger_key',
      'insert into health.cases values (9)',
      'delete from health.cases',
      'update health.cases set id = 1',
      'truncate health.cases',
      'drop table health.cases',
      'select * from health.cases for update',
      `copy health.cases from program 'id'`,
      `copy health.cases to program 'id'`,
      'create table health.mine (id int)',
      'create table public.mine (id int)',
      'create temp table mine (id int)',
      'create schema mine',
      'create function health.mine() returns int language sql as $$select 1$$',
      'create extension dblink schema health',
      'select lo_create(0)',
      `select lo_from_bytea(0, 'x')`,
      `select pg_notify('a', 'b')`,
      'select pg_advisory_lock(1)',
      `select pg_read_file('/etc/passwd')`,
      'select * from pg_authid',
      `set role c_${key}_load`,
      `set role c_${key}_readers`,
      `select set_config('role', 'c_${key}_read', false)`,
      'alter role current_user connection limit -1',
      `alter role current_user valid until 'infinity'`,
      'alter role current_user createrole',
      'set temp_file_limit = -1',
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'c_${key}_load'`,
      'alter default privileges for role c_' + key + '_load grant select on tables to public',
    ]
    for (const text of refused) expect([text, await codeOf(session.query(text))]).toEqual([text, '42501'])
    expect((await load.query('select 1')).rowCount).toBe(1)
  })

  /** Returns a session in whose transaction the login has changed its own role, and so locked it. */
  async function lockingSession({ login, password }: { login: string; password: string }) {
    const session = await connect(login, password)
    session.on('error', () => {})
    await session.query(`begin read write; alter role current_user set work_mem = '1MB'`)
    await session.query(`alter role current_user password 'chosen by the session itself'`)
    return session
  }

  it.each([
    ['is dropped', (login: string) => readers().drop(login)],
    [
      'becomes inactive',
      (login: string) => readers().define(own.client, { login, schemas: ['health'], active: false }, undefined),
    ],
  ])('lose their sessions when the login %s, although a session has locked its own role', async (_change, change) => {
    const reader = await newReader(['health'])
    await using session = await lockingSession(reader)
    await change(reader.login)
    await expect(session.query('select 1')).rejects.toThrow()
    expect(await codeOf(connect(reader.login, reader.password))).not.toBe('done')
  })

  it('have only the new password after a change, although a session has set another one', async () => {
    const reader = await newReader(['health'])
    await using session = await lockingSession(reader)
    await session.query('commit')
    await using second = await connect(reader.login, 'chosen by the session itself')
    second.on('error', () => {})
    await second.query(`begin read write; alter role current_user password 'chosen again'`)
    const password = newReaderPassword()
    await readers().define(own.client, { login: reader.login, schemas: ['health'], active: true }, password)
    await expect(second.query('commit')).rejects.toThrow()
    await using renewed = await connect(reader.login, password)
    expect((await renewed.query('select 1')).rowCount).toBe(1)
    for (const old of [reader.password, 'chosen by the session itself', 'chosen again'])
      expect(await codeOf(connect(reader.login, old))).toBe('28P01')
  })

  it('connect to no database of another client, and hold nothing that PostgreSQL shows as a right to change', async () => {
    const { login, password } = await newReader(['health'])
    expect(await codeOf(connect(login, password, other.access.database))).toBe('42501')
    await using superuser = await connected(superuserUrl())
    const { rows } = await superuser.query(
      `select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls as powers, rolconnlimit, rolpassword
       from pg_authid where rolname = $1`,
      [login],
    )
    expect(rows).toEqual([
      { powers: false, rolconnlimit: expect.any(Number), rolpassword: expect.stringMatching(/^SCRAM-SHA-256\$/) },
    ])
    const { rows: memberships } = await superuser.query(
      `select g.rolname like $2 as own, inherit_option, set_option, admin_option from pg_auth_members m
       join pg_roles r on r.oid = m.member join pg_roles g on g.oid = m.roleid where r.rolname = $1`,
      [login, `c\\_${own.client.key}\\_%`],
    )
    const plain = { own: true, inherit_option: true, set_option: false, admin_option: false }
    expect(memberships).toEqual([plain, plain])
    await using inside = await connected(superuserUrl(own.access.database))
    const { rows: rights } = await inside.query<{ privilege: string }>(
      `select distinct privilege_type as privilege from pg_class c, aclexplode(c.relacl) g
       where pg_has_role($1, g.grantee, 'member') and g.grantee <> 0`,
      [login],
    )
    expect(rights).toEqual([{ privilege: 'SELECT' }])
  })

  it('have the documented defaults, and are rejected after their expiry', async () => {
    const { login, password } = await newReader(['health', 'finance'])
    {
      await using session = await connect(login, password)
      const settings = ['default_transaction_read_only', 'statement_timeout', 'idle_in_transaction_session_timeout']
      const values = []
      for (const name of [...settings, 'transaction_timeout', 'temp_file_limit'])
        values.push((await session.query(`select current_setting($1) as value`, [name])).rows[0].value)
      expect(values).toEqual(['on', '30min', '1min', '1h', '2GB'])
    }
    await readers().define(own.client, { login, schemas: ['health'], active: true, expires: new Date(Date.now() - 1) })
    expect(await codeOf(connect(login, password))).toBe('28P01')
  })

  it('see no name of a schema of another client, neither in roles and their settings nor as a digest', async () => {
    const hidden = ['health', 'finance']
    await newReader(hidden)
    const [login, password] = [newReaderLogin(other.client.key), newReaderPassword()]
    await readers().define(other.client, { login, schemas: ['health'], active: true }, password)
    await using session = await connect(login, password, other.access.database)
    const shared = []
    for (const catalogue of ['pg_roles', 'pg_db_role_setting', 'pg_database', 'pg_shdescription'])
      shared.push(...(await session.query(`select t::text as text from ${catalogue} t`)).rows)
    const text = shared.map((row) => row.text as string).filter((line) => line.includes(own.client.key))
    expect(text.length).toBeGreaterThan(5)
    const digests = hidden.map((schema) => createHash('sha256').update(schema).digest('hex').slice(0, 16))
    for (const found of [...hidden, ...digests]) expect(text.filter((line) => line.includes(found))).toEqual([])
  })

  it('get the settings and roles of this version, and keep their sessions, if an earlier version created them', async () => {
    const { login, password } = await newReader(['finance'])
    await using superuser = await connected(superuserUrl())
    const { rows: schemaRoles } = await superuser.query<{ name: string }>(
      `select g.rolname as name from pg_auth_members m join pg_roles r on r.oid = m.member join pg_roles g on g.oid = m.roleid
       where r.rolname = $1 and g.rolname like '%\\_s\\_%'`,
      [login],
    )
    const former = `c_${own.client.key}_s_${createHash('sha256').update('finance').digest('hex').slice(0, 16)}`
    await superuser.query(`alter role ${schemaRoles[0]!.name} rename to ${former}`)
    await superuser.query(`alter role ${login} set search_path = finance; alter role ${login} connection limit 100`)
    await using session = await connect(login, password)
    await readers().define(own.client, { login, schemas: ['finance'], active: true })
    expect((await session.query('select count(*)::int as count from finance.budget')).rows).toEqual([{ count: 3 }])
    const { rows } = await superuser.query(
      `select rolconnlimit <= 10 as limited, rolconfig::text like '%search_path%' as path,
         exists (select from pg_roles where rolname = $2) as former from pg_roles where rolname = $1`,
      [login, former],
    )
    expect(rows).toEqual([{ limited: true, path: false, former: false }])
  })

  it('see the names of all schemas and tables of the database in its catalogue, and of all databases', async () => {
    const { login, password } = await newReader(['health'])
    await using session = await connect(login, password)
    const { rows } = await session.query(`select relname from pg_class where relname = 'budget'`)
    expect(rows).toEqual([{ relname: 'budget' }])
    const { rows: listed } = await session.query(
      `select table_schema from information_schema.tables where table_schema in ('health', 'finance', 'sluice') group by 1`,
    )
    expect(listed).toEqual([{ table_schema: 'health' }])
    const { rowCount } = await session.query('select from pg_database where datname = $1', [other.access.database])
    expect(rowCount).toBe(1)
  })

  it('read tables whose creation began before the first reader of the schema and is committed after it', async () => {
    await own.warehouse.catalog.ensureSchema('fresh')
    await using load = await connectedAs(own.access, 'load')
    await load.query('begin; create table fresh.early (id int); insert into fresh.early values (1)')
    const defining = newReader(['fresh'])
    await sleep(1_500)
    await load.query('commit')
    const { login, password } = await defining
    await using session = await connect(login, password)
    expect((await session.query('select * from fresh.early')).rows).toEqual([{ id: 1 }])
  })

  it('lose a view that moves to another schema, whose readers get it', async () => {
    await expect(newReader(['moved'])).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
    await own.warehouse.catalog.ensureSchema('moved')
    const [source, target] = [await newReader(['health']), await newReader(['moved'])]
    const view = {
      id: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
      name: 'wandering',
      query: 'select 7 as seven',
      materialized: false,
    }
    for (const schema of ['health', 'moved'])
      await own.warehouse.views.define({ ...view, schema }, { seconds: 20 }, never)
    await using superuser = await connected(superuserUrl(own.access.database))
    const { rows } = await superuser.query(
      `select array_agg(distinct pg_get_userbyid(g.grantee)::text) as roles from pg_class c, aclexplode(c.relacl) g where c.relname = 'wandering'`,
    )
    expect(rows[0].roles).toHaveLength(3)
    await using reader = await connect(target.login, target.password)
    expect((await reader.query('select * from moved.wandering')).rows).toEqual([{ seven: 7 }])
    await using stranger = await connect(source.login, source.password)
    expect(await codeOf(stranger.query('select * from moved.wandering'))).toBe('42501')
  })

  it('are dropped although a session changed the default privileges of its own role', async () => {
    const { login, password } = await newReader(['health'])
    await using session = await connect(login, password)
    await session.query('set default_transaction_read_only = off')
    await session.query('alter default privileges grant select on tables to public')
    await readers().drop(login)
    await using superuser = await connected(superuserUrl())
    expect((await superuser.query('select from pg_roles where rolname = $1', [login])).rowCount).toBe(0)
  })

  it('disappear with the warehouse of their client, sessions included', async () => {
    const gone = await tenant()
    await gone.warehouse.catalog.ensureSchema('health')
    await loadAll(gone.warehouse, { table: 'cases', columns: columns({ id: 'INTEGER', name: 'TEXT' }) }, numbered(1))
    const [login, password] = [newReaderLogin(gone.client.key), newReaderPassword()]
    await readers().define(gone.client, { login, schemas: ['health'], active: true }, password)
    await using session = await connect(login, password, gone.access.database)
    await gone.warehouse[Symbol.asyncDispose]()
    await removeWarehouse(server.adminUrl, gone.client.key)
    expect(await codeOf(session.query('select 1'))).not.toBe('done')
    await using superuser = await connected(superuserUrl())
    const { rows } = await superuser.query('select rolname from pg_roles where starts_with(rolname, $1)', [
      `c_${gone.client.key}`,
    ])
    expect(rows).toEqual([])
  })
})
