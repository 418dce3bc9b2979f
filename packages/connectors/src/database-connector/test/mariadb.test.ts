import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import type { Client } from 'pg'
import { until } from '@sluice/testing/wait-until'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-source.ts'
import { type Mariadb, mariadbMissing, startMariadb } from './mariadb-server.ts'
import { everyType, most, shapes, zeros } from './mariadb-types.ts'
import { here, listener, loadRowStream, shape, superuser, word } from './load-row-stream.ts'

const never = new AbortController().signal
const missing = mariadbMissing()

describeUnless(missing)('MariaDB as a source', () => {
  const table = word('loaded_')
  let mariadb: Mariadb
  let target: Client

  beforeAll(async () => {
    mariadb = await startMariadb()
    target = await superuser()
    await mariadb.admin.query(`
      create database shop character set utf8mb4; use shop;
      create user reader identified by 'reads-only'; grant select on shop.* to reader;
      create user nobody identified by 'sees-nothing'`)
  })
  afterAll(async () => {
    await target?.query(`drop table if exists ${table}`)
    await target?.end()
    await mariadb?.[Symbol.asyncDispose]()
  })

  const config = (changes: Partial<DatabaseConfig>): DatabaseConfig => ({
    kind: 'mysql',
    host: 'source.example',
    port: mariadb.port,
    database: 'shop',
    username: 'reader',
    password: 'reads-only',
    ssl: false,
    trustServerCertificate: false,
    ...changes,
  })
  const read = (changes: Partial<DatabaseConfig>, limits = databaseLimits) => {
    const { report, ...heard } = listener()
    return { heard, rowStreams: createDatabaseSource(here, limits).read(config(changes), report, never) }
  }
  async function load(changes: Partial<DatabaseConfig>, stored?: Parameters<typeof loadRowStream>[3]) {
    const { heard, rowStreams } = read(changes)
    const tables: Record<string, { shape: string[]; rows: (string | null)[][] }> = {}
    for await (const rowStream of rowStreams) {
      await loadRowStream(target, table, rowStream, stored)
      const texts = rowStream.columns.map(({ name }) => `"${name}"::text`).join(', ')
      const { rows } = await target.query({ text: `select ${texts} from ${table}`, rowMode: 'array' })
      tables[rowStream.table] = { shape: shape(rowStream.columns), rows }
    }
    return { ...heard, tables }
  }

  it('maps every column type, and loads dates with a zero part as null', async () => {
    await mariadb.admin.query(everyType)
    const { tables, logs, rejected } = await load({ tables: [{ name: 'every_type' }] })
    const { every_type: loaded } = tables
    expect(loaded!.shape).toEqual(shapes)
    const byId = new Map(loaded!.rows.map(([id, ...row]) => [id, row]))
    expect(byId.get('4294967295')).toEqual(most)
    expect(byId.get('0')).toEqual(zeros)
    expect(byId.get('7')).toEqual(Array.from({ length: 35 }, () => null))
    expect(rejected).toEqual([])
    expect(logs).toEqual([
      expect.stringMatching(/^Read every_type, 36 columns: id BIGINT, /),
      ...['day', 'at', 'fine'].map((name) => `1 date in "${name}" with a zero as year, month or day became null.`),
    ])
  })

  it('converts values to the wider types of the stored columns', async () => {
    const query = `select 7 as a, cast(9 as unsigned) as b, 1.50 as c, date'2026-11-21' as d, timestamp'2026-11-21 01:02:03.5' as e, 0.5e0 as f, 'x' as g, time'10:00:00' as h`
    const text = { dataType: 'TEXT' } as const
    const { tables } = await load({ query }, [text, text, text, text, text, text, { dataType: 'VARCHAR_50' }, text])
    expect(tables['']!.rows).toEqual([
      ['7', '9', '1.50', '2026-11-21', '2026-11-21 01:02:03.500000', '0.5', 'x', '10:00:00'],
    ])
    const wider = await load({ query }, [
      { dataType: 'DECIMAL' },
      { dataType: 'DOUBLE' },
      { dataType: 'DOUBLE' },
      { dataType: 'TIMESTAMP' },
      { dataType: 'TIMESTAMPTZ' },
      { dataType: 'DECIMAL' },
      text,
      text,
    ])
    expect(wider.tables['']!.rows).toEqual([
      ['7', '9', '1.5', '2026-11-21 00:00:00', '2026-11-21 01:02:03.5+00', '0.5', 'x', '10:00:00'],
    ])
  })

  it('loads 200,000 small and large rows, and counts rows and bytes', async () => {
    const query = `select seq as id, repeat(md5(seq), (seq % 7) * if(seq % 1000 = 0, 3000, 1)) as text, nullif(seq % 3, 0) as maybe from seq_1_to_200000`
    const { heard, rowStreams } = read({ query })
    for await (const rowStream of rowStreams) expect(await loadRowStream(target, table, rowStream)).toBe(200_000)
    const { rows } = await target.query(`
      select count(*)::int as rows, count(*) filter (where text = repeat(md5(id::text), ((id % 7) * case when id % 1000 = 0 then 3000 else 1 end)::int) and maybe is not distinct from nullif(id % 3, 0))::int as right from ${table}`)
    expect(rows).toEqual([{ rows: 200_000, right: 200_000 }])
    expect(heard.totals.rowsRead).toBe(200_000)
    expect(heard.totals.bytesRead).toBeGreaterThan(40_000_000)
  })

  it('rejects rows with a NUL character or an invalid date, and loads the others', async () => {
    await mariadb.admin.query(`
      set sql_mode = 'ALLOW_INVALID_DATES';
      create table odd (id int, t text, d date);
      insert into odd values (1, 'good', '2026-01-31'), (2, 'a\\0b', '2026-01-31'), (3, 'x', '2026-02-31'), (4, 'good', '2024-02-29')`)
    const { tables, rejected } = await load({ tables: [{ schema: 'shop', name: 'odd' }] })
    expect(tables['odd']!.rows.map(([id]) => id)).toEqual(['1', '4'])
    expect(rejected).toEqual([
      {
        line: 2,
        column: 't',
        reason: 'The value holds a NUL character, which text in the warehouse cannot.',
        raw: '[2,"a\\u0000b","2026-01-31"]',
      },
      { line: 3, column: 'd', reason: 'The value is not a valid DATE.', raw: '[3,"x","2026-02-31"]' },
    ])
  })

  it('reads several tables in one snapshot', async () => {
    await mariadb.admin.query('create table one (a int); insert into one values (1); create table `two ``2` (b text)')
    const { rowStreams } = read({ tables: [{ name: 'one' }, { name: 'two `2' }, { name: 'one' }] })
    const seen: [string, number][] = []
    for await (const rowStream of rowStreams) {
      seen.push([rowStream.table, await loadRowStream(target, table, rowStream)])
      await mariadb.admin.query('insert into one values (2)')
    }
    expect(seen).toEqual([
      ['one', 1],
      ['two `2', 0],
      ['one', 1],
    ])
  })

  it.each([
    ['select 1; drop table one', 'STATEMENT_INVALID'],
    ['drop table one', 'STATEMENT_NOT_ALLOWED'],
    ['/* select */ drop table one', 'STATEMENT_NOT_ALLOWED'],
    ['/*! drop table one */', 'STATEMENT_NOT_ALLOWED'],
    ['-- select\ndelete from one returning a', 'STATEMENT_NOT_ALLOWED'],
    ['commit', 'STATEMENT_NOT_ALLOWED'],
    ['call mysql.anything()', 'STATEMENT_NOT_ALLOWED'],
    [`select a from one into outfile '/tmp/broken-out'`, 'STATEMENT_NOT_ALLOWED'],
    [`select a from one into dumpfile '/tmp/broken-out'`, 'STATEMENT_NOT_ALLOWED'],
    ['select a from one limit 1 into @a', 'STATEMENT_NOT_ALLOWED'],
    ['select a into @a from one limit 1', 'STATEMENT_NOT_ALLOWED'],
    ['select a from one limit 1 /*! into @a */', 'STATEMENT_NOT_ALLOWED'],
    [`select a) as b into outfile '/tmp/broken-out' -- `, 'STATEMENT_INVALID'],
    ['select nextval(counted)', 'STATEMENT_NOT_ALLOWED'],
    ['select grows()', 'STATEMENT_NOT_ALLOWED'],
    ['selct 1', 'STATEMENT_NOT_ALLOWED'],
    ['select from', 'STATEMENT_INVALID'],
    ['select nothing from one', 'TABLE_MISSING'],
  ])('rejects the statement %j, and changes no rows', async (query, code) => {
    await mariadb.admin.query(`create sequence if not exists counted;
      create or replace function grows() returns int deterministic begin insert into one values (9); return 1; end`)
    const before = await mariadb.admin.query('select count(*) as n from one')
    await expect(load({ query, username: 'root', password: '' })).rejects.toMatchObject({ name: 'SourceProblem', code })
    expect((await mariadb.admin.query('select count(*) as n from one'))[0]).toEqual(before[0])
  })

  it.each([
    `select a, 'into outfile' as b from one -- into`,
    `(select 1 as \`into\`) union all (select 2)`,
    `with a as (select 'into' as b) select b, b as c from a order by 1`,
    `select a as b, 'into' as b from one`,
  ])('accepts %j, which has no INTO clause', async (query) => {
    await expect(
      testDatabaseConnection(config({ query, username: 'root', password: '' }), here, never),
    ).resolves.toBeUndefined()
  })

  it.each<[string, Partial<DatabaseConfig>, RegExp]>([
    ['AUTHENTICATION_FAILED', { password: 'not-the-password' }, /rejected user "reader"/],
    ['AUTHENTICATION_FAILED', { username: 'who', password: 'not-the-password' }, /rejected user "who"/],
    ['DATABASE_MISSING', { database: 'nowhere', username: 'root', password: '' }, /no database "nowhere"/],
    ['DATABASE_MISSING', { username: 'nobody', password: 'sees-nothing' }, /no database "shop" for user "nobody"/],
    ['CONNECTION_REFUSED', { port: 1 }, /port 1\. Check the port/],
    ['TLS_NOT_OFFERED', { ssl: true }, /does not offer encrypted/],
    ['PERMISSION_DENIED', { query: 'select * from mysql.user' }, /may not read/],
    ['TABLE_MISSING', { query: 'select * from nothing_here' }, /'shop.nothing_here' doesn't exist/],
  ])(
    'returns %s with a message that explains the cause without the password (case %#)',
    async (code, changes, sentence) => {
      const problem = await testDatabaseConnection(config({ query: 'select 1', ...changes }), here, never).catch(
        (error: Error) => error,
      )
      expect(problem).toMatchObject({ name: 'SourceProblem', code, message: expect.stringMatching(sentence) })
      expect((problem as Error).message).not.toMatch(/not-the-password|reads-only|sees-nothing/)
    },
  )

  it.each(['s3cret-token', 's3cret-token-'.repeat(6), "it's"])(
    'redacts %j, the value of a variable, in the error message',
    async (value) => {
      const literal = `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`
      const query = `select 1 where 1 = = ${literal} or 2 in (${literal})`
      const problem = await testDatabaseConnection(config({ query }), here, never).catch((error: Error) => error)
      expect(problem).toMatchObject({
        code: 'STATEMENT_INVALID',
        message: expect.stringMatching(/near '= {1,2}_utf8mb4 X'…'/),
      })
      expect((problem as Error).message).not.toContain(Buffer.from(value).toString('hex').slice(0, 8))
    },
  )

  it('fails with CONNECTION_LOST when the server closes the connection during the read', async () => {
    const { rowStreams } = read({ query: 'select seq, repeat(md5(seq), 30) from seq_1_to_3000000' })
    const reading = async () => {
      for await (const { content } of rowStreams) {
        if (content.format !== 'copy-binary') throw new Error()
        for await (const chunk of content.rows([{ dataType: 'BIGINT' }, { dataType: 'TEXT' }])) {
          chunk.release?.()
          const [connections] = await mariadb.admin.query(
            `select id from information_schema.processlist where user = 'reader'`,
          )
          for (const { id } of connections as { id: number }[]) await mariadb.admin.query(`kill ${id}`).catch(() => {})
        }
      }
    }
    await expect(reading()).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
  })

  it('stops and ends the query at the server when no data arrives in time or the read is aborted', async () => {
    const query = 'select if(seq = 30000, sleep(60), 0) as s, md5(seq) from seq_1_to_30000'
    const { rowStreams } = read({ query }, { ...databaseLimits, firstRow: 400, silence: 400 })
    const loading = async (all: typeof rowStreams) => {
      for await (const rowStream of all) await loadRowStream(target, table, rowStream)
    }
    await expect(loading(rowStreams)).rejects.toMatchObject({ code: 'SOURCE_SILENT' })
    const cancel = new AbortController()
    const aborted = createDatabaseSource(here).read(config({ query }), listener().report, cancel.signal)
    setTimeout(() => cancel.abort(new Error('cancelled')), 300)
    const started = performance.now()
    await expect(loading(aborted)).rejects.toThrow('cancelled')
    // The query takes a minute.
    expect(performance.now() - started).toBeLessThan(30_000)
    // The server ends neither query by itself before the minute is over.
    const running = async () => {
      const [rows] = await mariadb.admin.query(
        `select info from information_schema.processlist where info like '%sleep(60)%' and id <> connection_id()`,
      )
      return (rows as object[]).length
    }
    await until(async () => (await running()) === 0, { within: 5_000 })
  })
})
