import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import { connect, createServer, type Server } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Client } from 'pg'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource } from '../database-source.ts'
import { selfSigned } from './certificate.ts'
import { type Mariadb, mariadbMissing, startMariadb } from './mariadb-server.ts'
import { here, listener, loadRowStream, postgresConfig, superuser, word } from './load-row-stream.ts'

const never = new AbortController().signal
const certificate = selfSigned()
const missing = certificate ? mariadbMissing() : 'openssl is not installed'

describeUnless(missing)('an encrypted connection', () => {
  const table = word('loaded_')
  let target: Client
  let mariadb: Mariadb
  let front: Server

  beforeAll(async () => {
    target = await superuser()
    mariadb = await startMariadb(certificate)
    await mariadb.admin.query(`create database shop; create user reader identified by 'reads-only' require ssl`)
    front = await encryptedFront()
  })
  afterAll(async () => {
    front?.close()
    await target?.query(`drop table if exists ${table}`)
    await target?.end()
    await mariadb?.[Symbol.asyncDispose]()
  })

  /** The tests' PostgreSQL offers no TLS by itself, so somebody stands before it who does. */
  async function encryptedFront(): Promise<Server> {
    const { port } = postgresConfig('postgres')
    const server = createServer({ noDelay: true }, (socket) => {
      socket.once('data', () => {
        socket.write('S')
        const open = new TLSSocket(socket, { isServer: true, ...certificate })
        const behind = connect({ port, host: '127.0.0.1', noDelay: true })
        for (const each of [socket, open, behind]) each.on('error', () => behind.destroy())
        open.pipe(behind).pipe(open)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return server
  }

  const sources = (): [string, DatabaseConfig][] => {
    const postgres = postgresConfig('postgres', {
      port: (front.address() as { port: number }).port,
      query: `select g as id, repeat(md5(g::text), 20) as text from generate_series(1, 20000) g`,
    })
    const mysql: DatabaseConfig = {
      ...postgres,
      kind: 'mysql',
      port: mariadb.port,
      database: 'information_schema',
      username: 'reader',
      password: 'reads-only',
      query: 'select cast(seq as signed) as id, repeat(md5(seq), 20) as text from test_sequence',
    }
    return [
      ['PostgreSQL', postgres],
      ['MariaDB', { ...mysql, database: 'shop', query: mysql.query!.replace('test_sequence', 'seq_1_to_20000') }],
    ]
  }

  const load = async (config: DatabaseConfig, limits = databaseLimits) => {
    let rows = 0
    const { report, totals } = listener()
    for await (const rowStream of createDatabaseSource(here, limits).read(config, report, never))
      rows += await loadRowStream(target, table, rowStream)
    expect(totals.bytesRead).toBeGreaterThan(rows * 640)
    return rows
  }

  it('loads all rows with a limit of 1.5 seconds without data', async () => {
    await mariadb.admin.query('grant select on shop.* to reader')
    for (const [, config] of sources()) {
      const patient = { ...databaseLimits, firstRow: 1_500, silence: 1_500 }
      expect(await load({ ...config, ssl: true, trustServerCertificate: true }, patient)).toBe(20_000)
      const { rows } = await target.query(
        `select count(*)::int as n from ${table} where text = repeat(md5(id::text), 20)`,
      )
      expect(rows).toEqual([{ n: 20_000 }])
    }
  })

  it('is rejected if the certificate is self-signed and trustServerCertificate is off', async () => {
    for (const [, config] of sources())
      await expect(load({ ...config, ssl: true })).rejects.toMatchObject({ code: 'CERTIFICATE_NOT_TRUSTED' })
  })

  it('is required: an unencrypted connection of a user with REQUIRE SSL fails with AUTHENTICATION_FAILED', async () => {
    const [, [, config]] = sources() as [unknown, [string, DatabaseConfig]]
    await expect(load(config)).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
  })
})
