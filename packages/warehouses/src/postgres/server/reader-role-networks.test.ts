import { readFile, rename, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@sluice/testing/wait-until'
import type { ClientConfig } from 'pg'
import { type PublicServer, socketFrom, startPublicServer } from '../../../test/server-with-public-address.ts'
import { columns, loadAll } from '../../../test/row-fixtures.ts'
import { connected } from '../../../test/scratch-warehouse.ts'
import { newReaderLogin, newReaderPassword } from '../../warehouse-reader-logins.ts'
import { openPostgresWarehouse } from '../postgres-warehouse.ts'
import { provisionWarehouse } from './provision-warehouse.ts'
import { networkProblem } from './reader-role-networks.ts'
import { postgresReaders } from './reader-roles.ts'

describe('networkProblem', () => {
  it.each([
    '192.0.2.0/24',
    '0.0.0.0/0',
    '192.0.2.7/32',
    '10.128.0.0/9',
    '::/0',
    '2001:db8::/32',
    '2001:db8::1/128',
    'fe80::/10',
  ])('accepts the network %s', (network) => expect(networkProblem(network)).toBeUndefined())

  it.each([
    ['192.0.2.1/24', /For the single address, write 192\.0\.2\.1\/32\.$/],
    ['10.128.0.0/8', /bits behind its prefix/],
    ['2001:db8::1/64', /write 2001:db8::1\/128/],
    ['::ffff:192.0.2.1/96', /bits behind its prefix/],
    ['192.0.2.0/33', /from 0 to 32/],
    ['::/129', /from 0 to 128/],
    ['192.0.2.0', /from 0 to 32/],
    ['192.0.2.0/', /from 0 to 32/],
    ['192.0.2.0/024', /from 0 to 32/],
    ['192.0.2.0/24/8', /nothing else/],
    ['192.0.2.0/24/', /nothing else/],
    ['fe80::%eth0/64', /no valid address/],
    ['fe80::1%1/128', /no valid address/],
    ['192.0.2/24', /no valid address/],
    ['example.org/24', /no valid address/],
    ['192.0.2.0/24 trust', /from 0 to 32/],
  ])('rejects the network %j', (network, reason) => expect(networkProblem(network)).toMatch(reason))
})

describe('the networks of readers, on a server that Sluice runs', () => {
  const client = { key: 'networks', loadPassword: 'load-password', readPassword: 'read-password' }
  let server: PublicServer
  let readers: ReturnType<typeof postgresReaders>
  beforeAll(async () => {
    server = await startPublicServer()
    readers = postgresReaders(server.adminUrl, { hbaInclude: server.rulesFile })
    await using warehouse = openPostgresWarehouse(await provisionWarehouse(server.adminUrl, client))
    await warehouse.catalog.ensureSchema('health')
    await loadAll(warehouse, { table: 'cases', columns: columns({ id: 'INTEGER' }) }, [[1]])
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  async function newReader() {
    const [user, password] = [newReaderLogin(client.key), newReaderPassword()]
    await readers.define(client, { login: user, schemas: ['health'], active: true }, password)
    return { user, password }
  }
  type Login = Awaited<ReturnType<typeof newReader>>
  /** Connects from an address, with TLS unless `ssl` is false. Returns the first row, or the code of the error. */
  async function read({ user, password }: Login, from: string, changes: Partial<ClientConfig> = {}): Promise<unknown> {
    try {
      await using session = await connected({
        host: '127.0.0.1',
        port: server.port,
        database: `c_${client.key}`,
        user,
        password,
        ssl: { ca: server.certificate },
        stream: () => socketFrom(from),
        ...changes,
      })
      return (await session.query('select id from health.cases')).rows[0]
    } catch (error) {
      return (error as { code?: string }).code
    }
  }
  const row = { id: 1 }
  const rejected = '28000'

  it('allow a reader without networks to connect from everywhere, but only with TLS from other machines', async () => {
    const reader = await newReader()
    await readers.setNetworks!([{ login: reader.user, networks: [] }])
    await until(async () => (await read(reader, '127.0.0.2', { ssl: false })) === rejected)
    expect(await read(reader, '127.0.0.2')).toEqual(row)
    expect(await read(reader, '127.0.0.1')).toEqual(row)
    expect(await read(reader, '127.0.0.1', { ssl: false })).toEqual(row)
    expect(await read({ ...reader, password: 'wrong' }, '127.0.0.2')).toBe('28P01')
  })

  it('allow a reader with networks to connect from these only, and change without a restart', async () => {
    const [reader, other] = [await newReader(), await newReader()]
    const set = (networks: string[]) =>
      readers.setNetworks!([
        { login: reader.user, networks },
        { login: other.user, networks: [] },
      ])
    await set(['192.0.2.0/24', '127.0.2.0/24'])
    await until(async () => (await read(reader, '127.0.0.2')) === rejected)
    expect(await read(reader, '127.0.2.9')).toEqual(row)
    expect(await read(reader, '127.0.0.1')).toBe(rejected)
    expect(await read(reader, '127.0.2.9', { database: 'warehouse' })).toBe(rejected)
    expect(await read(other, '127.0.0.2')).toEqual(row)
    await using inside = await connected({
      host: '127.0.0.1',
      port: server.port,
      database: `c_${client.key}`,
      ...reader,
      ssl: { ca: server.certificate },
      stream: () => socketFrom('127.0.2.9'),
    })
    await set(['127.0.0.2/32'])
    await until(async () => (await inside.query('select 1').catch(() => 'ended')) === 'ended')
    await until(async () => (await read(reader, '127.0.2.9')) === rejected)
    expect(await read(reader, '127.0.0.2')).toEqual(row)
    await set([])
    await until(async () => (await read(reader, '127.0.2.9')) !== rejected)
  })

  it('concern no other reader if those of one are invalid, and that one connects only from its valid networks', async () => {
    const [broken, mixed, other] = [await newReader(), await newReader(), await newReader()]
    await using inside = await connected({
      host: '127.0.0.1',
      port: server.port,
      database: `c_${client.key}`,
      ...broken,
      ssl: { ca: server.certificate },
      stream: () => socketFrom('127.0.0.2'),
    })
    await readers.setNetworks!([
      { login: broken.user, networks: ['127.0.0.1/8', 'fe80::%eth0/64', '127.0.0.0/8/8'] },
      { login: mixed.user, networks: ['127.0.0.0/8 trust', '127.0.2.0/24'] },
      { login: other.user, networks: ['127.0.3.0/24'] },
    ])
    await until(async () => (await read(other, '127.0.0.2')) === rejected)
    expect(await read(other, '127.0.3.1')).toEqual(row)
    expect([await read(mixed, '127.0.0.2'), await read(mixed, '127.0.2.1')]).toEqual([rejected, row])
    await until(async () => (await inside.query('select 1').catch(() => 'ended')) === 'ended')
    for (const address of ['127.0.0.1', '127.0.0.2']) expect(await read(broken, address)).toBe(rejected)
    await using superuser = await connected(server.superuserUrl)
    expect((await superuser.query('select * from pg_hba_file_rules where error is not null')).rows).toEqual([])
  })

  it('give no other role access from other machines', async () => {
    const admin = { user: 'warehouse', password: 'warehouse' }
    const load = { user: `c_${client.key}_load`, password: client.loadPassword }
    const superuser = { user: 'postgres', password: 'public-server' }
    const rules = await readFile(server.rulesFile, 'utf8')
    expect(rules).toContain('reject')
    // The default rules of the cluster are about 127.0.0.1/32; PostgreSQL reports a missing rule like a rejection.
    for (const login of [admin, load, superuser]) {
      expect(await read(login, '127.0.0.2')).toBe(rejected)
      expect(await read(login, '127.0.0.2', { ssl: false })).toBe(rejected)
    }
  })

  it('are the only ones that lead to the published port of the container, for readers only and with TLS', async () => {
    const image = await readFile(new URL('../../../../../infra/images/postgres/pg_hba.conf', import.meta.url), 'utf8')
    await using superuser = await connected(server.superuserUrl)
    const { rows } = await superuser.query(`select current_setting('hba_file') as file`)
    const before = await readFile(rows[0].file, 'utf8')
    const reader = await newReader()
    await readers.setNetworks!([{ login: reader.user, networks: [] }])
    const rendered = image
      .replace('/var/lib/sluice/rules/readers.conf', server.rulesFile)
      .replace(/^host all all SERVICES_NETWORK/m, 'host all all 127.0.5.0/24')
    try {
      await writeFile(rows[0].file, rendered)
      await superuser.query('select pg_reload_conf()')
      const load = { user: `c_${client.key}_load`, password: client.loadPassword }
      await until(async () => (await read(load, '127.0.0.1')) === rejected)
      const admin = { user: 'warehouse', password: 'warehouse' }
      for (const ssl of [false, { ca: server.certificate }])
        for (const address of ['127.0.0.1', '127.0.0.2'])
          for (const [login, database] of [
            [load, `c_${client.key}`],
            [admin, 'warehouse'],
          ] as const)
            expect(await read(login, address, { ssl, database })).toBe(rejected)
      expect(await read(load, '127.0.5.7', { ssl: false })).toEqual(row)
      expect(await read(reader, '127.0.0.2')).toEqual(row)
      for (const address of ['127.0.0.2', '127.0.5.7'])
        expect(await read(reader, address, { ssl: false })).toBe(rejected)
      // Without the file with their rules, readers are rejected too.
      await rename(server.rulesFile, `${server.rulesFile}.aside`)
      await superuser.query('select pg_reload_conf()')
      await until(async () => (await read(reader, '127.0.0.2')) === rejected)
    } finally {
      await writeFile(rows[0].file, before)
      await rename(`${server.rulesFile}.aside`, server.rulesFile).catch(() => {})
      await superuser.query('select pg_reload_conf()')
    }
    await until(async () => (await read(reader, '127.0.0.2')) !== rejected)
  })

  it('need no file: the server starts and accepts its own roles without one', async () => {
    await using session = await connected(server.adminUrl)
    const { rows } = await session.query(`select has_function_privilege('pg_reload_conf()', 'execute') as may`)
    expect(rows).toEqual([{ may: true }])
  })

  it('cannot be set on a server that others run', () => {
    expect(postgresReaders(server.adminUrl).setNetworks).toBeUndefined()
  })

  it('are checked with a certificate of this server only', async () => {
    const reader = await newReader()
    expect(await read(reader, '127.0.0.1', { ssl: true })).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    expect(await read(reader, '127.0.0.1', { host: 'localhost', ssl: { ca: server.certificate } })).toEqual(row)
    const wrongName = { ca: server.certificate, servername: 'example.org' }
    expect(await read(reader, '127.0.0.1', { ssl: wrongName })).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  })
})
