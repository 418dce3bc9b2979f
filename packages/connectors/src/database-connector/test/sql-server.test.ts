import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import mssql from 'mssql'
import type { Client } from 'pg'
import type { Answer } from '@sluice/warehouses/testing/responses'
import { type StandIn, type Statement, tdsStandIn } from '@sluice/warehouses/testing/stand-in'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-source.ts'
import { here, listener, loadRowStream, shape, superuser, word } from './load-row-stream.ts'

const never = new AbortController().signal
const table = word('loaded_')
let target: Client

beforeAll(async () => {
  target = await superuser()
})
afterAll(async () => {
  await target?.query(`drop table if exists ${table}`)
  await target?.end()
})

const config = (changes: Partial<DatabaseConfig>): DatabaseConfig => ({
  kind: 'sql-server',
  host: 'source.example',
  port: 1433,
  database: 'shop',
  username: 'reader',
  password: 'reads-only',
  ssl: false,
  trustServerCertificate: false,
  ...changes,
})

async function load(changes: Partial<DatabaseConfig>) {
  const loaded: { shape: string[]; rows: (string | null)[][] }[] = []
  for await (const rowStream of createDatabaseSource(here).read(config(changes), listener().report, never)) {
    await loadRowStream(target, table, rowStream)
    const texts = rowStream.columns.map(({ name }) => `"${name}"::text`).join(', ')
    const { rows } = await target.query({ text: `select ${texts} from ${table}`, rowMode: 'array' })
    loaded.push({ shape: shape(rowStream.columns), rows })
  }
  return loaded
}

const described = (columns: [name: string, type: string, precision: number, scale: number][]): Answer => ({
  columns: [
    ['name', 'text'],
    ['system_type_name', 'text'],
    ['user_type_name', 'text'],
    ['precision', 'int'],
    ['scale', 'int'],
    ['error_message', 'text'],
    ['error_number', 'int'],
  ],
  rows: columns.map(([name, type, precision, scale]) => [name, type, null, precision, scale, null, null]),
})

describe('SQL Server as a source, simulated with a TDS server', () => {
  const servers: StandIn[] = []
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
  })
  async function serve(
    answer: (statement: Statement) => Answer | Promise<Answer>,
    snapshotState = 1,
  ): Promise<StandIn> {
    const server = await tdsStandIn({
      answer: (statement) =>
        statement.text.includes('snapshot_isolation_state')
          ? { columns: [['state', 'int']], rows: [[snapshotState]] }
          : answer(statement),
    })
    servers.push(server)
    return server
  }

  it('reads 30,000 rows without loss of digits, and commits no transaction', async () => {
    const server = await serve(({ text }) => {
      if (text.includes('dm_exec_describe_first_result_set'))
        return described([
          ['id', 'int', 10, 0],
          ['big', 'bigint', 19, 0],
          ['money', 'decimal(38,4)', 38, 4],
          ['yes', 'bit', 1, 0],
          ['note', 'nvarchar(max)', 0, 0],
        ])
      const row = (id: number): (string | number | boolean | null)[] => [
        id,
        '9223372036854775807',
        '1234567890123456789012345678901234.5678',
        id % 2 === 0,
        id % 3 === 0 ? null : `ü😀 ${id}`,
      ]
      return {
        columns: [
          ['', 'int'],
          ['', 'bigint'],
          ['', 'text'],
          ['', 'bit'],
          ['', 'text'],
        ],
        rows: Array.from({ length: 30_000 }, (_, index) => row(index + 1)),
      }
    })
    const [loaded] = await load({ port: server.port, query: 'select * from [dbo].[cases]' })
    expect(loaded!.shape).toEqual(['id INTEGER', 'big BIGINT', 'money DECIMAL (38,4)', 'yes BOOLEAN', 'note TEXT'])
    expect(loaded!.rows).toHaveLength(30_000)
    expect(loaded!.rows.slice(1, 3)).toEqual([
      ['2', '9223372036854775807', '1234567890123456789012345678901234.5678', 'true', 'ü😀 2'],
      ['3', '9223372036854775807', '1234567890123456789012345678901234.5678', 'false', null],
    ])
    expect(server.statements.at(-1)?.text).toBe(
      'select c1, c2, convert(varchar(60), c3), c4, c5 from (\nselect * from [dbo].[cases]\n) as source(c1, c2, c3, c4, c5)',
    )
    // Nothing is written: the transaction that shows one moment is never committed.
    expect(server.statements.map(({ text }) => text)).toContain('BEGIN')
    expect(server.statements.map(({ text }) => text)).not.toContain('COMMIT')
  })

  it.each([
    ['says that several tables are of different moments', 0, 2, 1],
    ['reads several tables in one snapshot', 1, 2, 0],
    ['needs no snapshot for one table', 0, 1, 0],
  ])('%s if the snapshot state is %i', async (_, state, count, notes) => {
    const server = await serve(
      ({ text }) =>
        text.includes('dm_exec') ? described([['id', 'int', 10, 0]]) : { columns: [['', 'int']], rows: [[7]] },
      state,
    )
    const tables = ['one', 'two'].slice(0, count).map((name) => ({ schema: 'dbo', name }))
    const { logs, report } = listener()
    const loaded: [string, number][] = []
    for await (const rowStream of createDatabaseSource(here).read(config({ port: server.port, tables }), report, never))
      loaded.push([rowStream.table, await loadRowStream(target, table, rowStream)])
    expect(loaded).toEqual(tables.map(({ name }) => [name, 1]))
    expect(logs.filter((message) => message.includes('ALLOW_SNAPSHOT_ISOLATION'))).toHaveLength(notes)
  })

  it('stops when aborted, and returns TABLE_MISSING for an unknown table', async () => {
    const server = await serve(({ text }) => {
      if (text.includes('dm_exec')) return described([['id', 'int', 10, 0]])
      return new Promise<Answer>(() => {})
    })
    const cancel = new AbortController()
    const reading = createDatabaseSource(here).read(
      config({ port: server.port, query: 'select 1 as id' }),
      listener().report,
      cancel.signal,
    )
    const loading = async () => {
      for await (const rowStream of reading) await loadRowStream(target, table, rowStream)
    }
    setTimeout(() => cancel.abort(new Error('cancelled')), 300)
    const started = performance.now()
    await expect(loading()).rejects.toThrow('cancelled')
    expect(performance.now() - started).toBeLessThan(5_000)
    const refusing = await serve(({ text }) =>
      text.includes('dm_exec') ? { number: 208, message: `Invalid object name 'nowhere'.` } : undefined,
    )
    await expect(load({ port: refusing.port, query: 'select * from nowhere' })).rejects.toMatchObject({
      name: 'SourceProblem',
      code: 'TABLE_MISSING',
    })
  })
})

const given = process.env['SQLSERVER_TEST_URL']

describeUnless(given ? undefined : 'set SQLSERVER_TEST_URL')('SQL Server as a source, on a real server', () => {
  const url = new URL(given ?? 'mssql://none@localhost')
  const database = word('shop_')
  const login = word('reader_')
  const password = 'Reads-only-1'
  let admin: mssql.ConnectionPool

  const real = (changes: Partial<DatabaseConfig>) => ({
    port: Number(url.port || 1433),
    database,
    username: login,
    password,
    ssl: url.searchParams.get('encrypt') !== 'false',
    trustServerCertificate: true,
    ...changes,
  })
  const run = (text: string, of = database) =>
    admin
      .request()
      .batch(`use [${of}]`)
      .then(() => admin.request().batch(text))

  beforeAll(async () => {
    admin = new mssql.ConnectionPool({
      server: url.hostname,
      port: Number(url.port || 1433),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      pool: { max: 1 },
      options: { encrypt: url.searchParams.get('encrypt') !== 'false', trustServerCertificate: true },
    })
    await admin.connect()
    await admin.request().batch(`create database [${database}]`)
    await admin.request().batch(`create login [${login}] with password = '${password}'`)
    await run(`create user [${login}] for login [${login}]`)
  })
  afterAll(async () => {
    await admin?.request().batch('use master')
    await admin
      ?.request()
      .batch(`drop database [${database}]`)
      .catch(() => {})
    await admin
      ?.request()
      .batch(`drop login [${login}]`)
      .catch(() => {})
    await admin?.close()
  })

  it('maps every column type and loads its values', async () => {
    await run(`create table every_type (
      id int not null primary key, yes bit, tiny tinyint, small smallint, big bigint, exact decimal(38,10), cash money, coins smallmoney,
      single real, dbl float, day date, at datetime, rough smalldatetime, fine datetime2(7), clock time(6), moment datetimeoffset(6),
      c char(5), v varchar(50), n nvarchar(50), long nvarchar(max), u uniqueidentifier, bin varbinary(10))`)
    await run(`insert into every_type values
      (1, 1, 255, -32768, 9223372036854775807, 1234567890123456789012345678.0123456789, 922337203685477.5807, -0.0001,
       1.5, 0.1, '0001-01-01', '2026-11-21 01:02:03.997', '2026-11-21 01:02', '1969-12-31 23:59:59.1234567', '23:59:59.000001', '2026-01-01 12:00:00 +02:00',
       'ab', 'naive', N'ü😀', replicate(cast(N'ü' as nvarchar(max)), 20000), '123e4567-e89b-12d3-a456-426614174000', 0x00ff),
      (2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)`)
    await run(`grant select on every_type to [${login}]`)
    const [loaded] = await load(real({ tables: [{ schema: 'dbo', name: 'every_type' }] }))
    expect(loaded!.rows[1]!.slice(1)).toEqual(loaded!.rows[1]!.slice(1).map(() => null))
    const [row] = loaded!.rows
    expect(row!.slice(0, 17)).toEqual([
      '1',
      'true',
      '255',
      '-32768',
      '9223372036854775807',
      '1234567890123456789012345678.0123456789',
      '922337203685477.5807',
      '-0.0001',
      '1.5',
      '0.1',
      '0001-01-01',
      '2026-11-21 01:02:03.997',
      '2026-11-21 01:02:00',
      expect.stringMatching(/^1969-12-31 23:59:59\.12345/),
      '23:59:59.000001',
      '2026-01-01 10:00:00+00',
      'ab   ',
    ])
    expect(row!.slice(17, 19)).toEqual(['naive', 'ü😀'])
    expect(row![19]).toHaveLength(20_000)
    expect(row![20]).toMatch(/^123e4567-e89b-12d3-a456-426614174000$/i)
  })

  it('reads 30,000 rows, stops when aborted, and rejects a wrong password or an unknown table', async () => {
    const many = `select top (30000) row_number() over (order by (select null)) as n, newid() as u from sys.columns a cross join sys.columns b`
    const [loaded] = await load(real({ query: many }))
    expect(loaded!.rows).toHaveLength(30_000)
    const cancel = new AbortController()
    const endless = 'select a.name as n from sys.columns a cross join sys.columns b cross join sys.columns c'
    const reading = createDatabaseSource(here).read(config(real({ query: endless })), listener().report, cancel.signal)
    setTimeout(() => cancel.abort(new Error('cancelled')), 1_000)
    const started = performance.now()
    await expect(
      (async () => {
        for await (const rowStream of reading) await loadRowStream(target, table, rowStream)
      })(),
    ).rejects.toThrow('cancelled')
    expect(performance.now() - started).toBeLessThan(6_000)
    const wrong = testDatabaseConnection(config(real({ password: 'wrong' })), here, never, databaseLimits)
    await expect(wrong).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    await expect(load(real({ query: 'select * from nowhere' }))).rejects.toMatchObject({ code: 'TABLE_MISSING' })
  })
})
