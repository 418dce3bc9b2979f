import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import type { Client } from 'pg'
import { until } from '@sluice/testing/wait-until'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-source.ts'
import { here, listener, loadRowStream, postgresConfig, shape, superuser, word } from './load-row-stream.ts'

const never = new AbortController().signal

describe('PostgreSQL as a source', () => {
  const database = word('source_')
  const reader = word('reader_')
  let source: Client
  let target: Client

  beforeAll(async () => {
    target = await superuser()
    await target.query(`create database ${database}`)
    await target.query(`create role ${reader} login password 'reads-only'`)
    source = await superuser(database)
  })
  afterAll(async () => {
    await source?.end()
    await target?.query(`drop table if exists loaded`)
    await target?.query(`drop database if exists ${database} with (force)`)
    await target?.query(`drop role if exists ${reader}`)
    await target?.end()
  })

  const read = (changes: Partial<DatabaseConfig>, limits = databaseLimits) => {
    const { report, ...heard } = listener()
    return {
      heard,
      rowStreams: createDatabaseSource(here, limits).read(postgresConfig(database, changes), report, never),
    }
  }
  async function load(changes: Partial<DatabaseConfig>) {
    const { heard, rowStreams } = read(changes)
    const tables: Record<string, { shape: string[]; rows: unknown[][] }> = {}
    for await (const rowStream of rowStreams) {
      await loadRowStream(target, 'loaded', rowStream)
      const texts = rowStream.columns.map(({ name }) => `"${name}"::text`).join(', ')
      const { rows } = await target.query({ text: `select ${texts} from loaded`, rowMode: 'array' })
      tables[rowStream.table] = { shape: shape(rowStream.columns), rows }
    }
    return { ...heard, tables }
  }

  it('maps every column type, and loads the same values as text as the source shows', async () => {
    await source.query(`
      create type mood as enum ('glad', 'sad'); create domain code as varchar(5);
      create table every_type (
        id int primary key, small int2, big int8, exact numeric(12,3), any_exact numeric, odd numeric(3,-2), single float4, double float8, truth bool,
        day date, at timestamp, moment timestamptz, j json, jb jsonb, t text, v varchar(10), c char(6), n name, mood mood, code code,
        u uuid, bytes bytea, bits bit(5), tags text[], span interval, clock time, net inet, range int4range, x xml, o oid, m money, point point);
      insert into every_type values
        (1, -32768, 9223372036854775807, -123456789.125, 'NaN', 12345, 0.1, 1e-300, true, '0001-01-01', '2026-11-21 01:02:03.456789', '2026-11-21 01:02:03+05:30',
         '{"b": 1,  "a": 2}', '{"z": null}', E'tab\\t ☃ \\\\ \\n', 'ü', 'ab', 'name', 'sad', 'x1', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x00ff',
         '10101', '{a,"b c"}', '1 year 2 days 03:04:05', '23:59:59.5', '10.0.0.1/8', '[1,5)', '<a/>', 4000000000, '12.30', '(1,2)'),
        (2, 0, -1, 0, 1e100, 0, 'NaN', '-Infinity', false, 'infinity', '-infinity', '4713-01-01 BC', 'null', '[]', '', '', '', '', 'glad', '',
         null, '', '00000', '{}', '-1 mon', '00:00', '::1', 'empty', '', 0, '0', '(0,0)');
      insert into every_type (id) values (3)`)
    const { tables } = await load({ tables: [{ schema: 'public', name: 'every_type' }] })
    const { rows } = await source.query({
      text: `select ${['id', 'small', 'big', 'exact', 'any_exact', 'odd', 'single', 'double', 'truth', 'day', 'at', 'moment', 'j::jsonb', 'jb', 't', 'v', 'c', 'n', 'mood', 'code', 'u', 'bytes', 'bits', 'tags', 'span', 'clock', 'net', 'range', 'x', 'o', 'm::numeric', 'point'].map((each) => `${each}::text`).join(', ')} from every_type`,
      rowMode: 'array',
    })
    const { every_type: loaded } = tables
    expect(loaded!.rows).toEqual(rows)
    expect(loaded!.shape).toEqual([
      'id INTEGER key',
      'small SMALLINT',
      'big BIGINT',
      'exact DECIMAL (12,3)',
      'any_exact DECIMAL',
      'odd DECIMAL',
      'single FLOAT',
      'double DOUBLE',
      'truth BOOLEAN',
      'day DATE',
      'at TIMESTAMP',
      'moment TIMESTAMPTZ',
      'j JSONB',
      'jb JSONB',
      't TEXT',
      'v TEXT',
      'c TEXT',
      'n TEXT',
      'mood TEXT',
      'code TEXT',
      'u TEXT',
      'bytes TEXT',
      'bits TEXT',
      'tags TEXT',
      'span TEXT',
      'clock TEXT',
      'net TEXT',
      'range TEXT',
      'x TEXT',
      'o BIGINT',
      'm DECIMAL',
      'point TEXT',
    ])
  })

  it.each<[string, DataType, string]>([
    ['7::int2', 'INTEGER', '7'],
    ['7::int2', 'BIGINT', '7'],
    ['7', 'DECIMAL', '7'],
    ['7', 'DOUBLE', '7'],
    ['0.1::float8 + 0.2', 'DECIMAL', '0.30000000000000004'],
    ['0.5::float4', 'DOUBLE', '0.5'],
    [`'2026-11-21'::date`, 'TIMESTAMP', '2026-11-21 00:00:00'],
    [`'2026-11-21 10:00'::timestamp`, 'TIMESTAMPTZ', '2026-11-21 10:00:00+00'],
    [`'2026-11-21 10:00+03'::timestamptz`, 'TEXT', '2026-11-21 07:00:00+00'],
    ['true', 'TEXT', 'true'],
    ['1.50', 'TEXT', '1.50'],
    [`'{"a": 1}'::jsonb`, 'TEXT', '{"a": 1}'],
    [`'abc'::text`, 'VARCHAR_50', 'abc'],
  ])('reads %s into a column stored as %s', async (expression, dataType, shown) => {
    for await (const rowStream of read({ query: `select ${expression} as value` }).rowStreams)
      await loadRowStream(target, 'loaded', rowStream, [{ dataType }])
    expect((await target.query('select value::text from loaded')).rows).toEqual([{ value: shown }])
  })

  it('loads 200,000 small and large rows, and counts rows and bytes', async () => {
    const query = `select g as id, repeat(md5(g::text), (g % 7) * case when g % 1000 = 0 then 3000 else 1 end) as text, nullif(g % 3, 0) as maybe from generate_series(1, 200000) g`
    const { heard, rowStreams } = read({ query })
    for await (const rowStream of rowStreams) expect(await loadRowStream(target, 'loaded', rowStream)).toBe(200_000)
    const sums = (from: string) => `select count(*), sum(hashtextextended(row(id, text, maybe)::text, 0)) from ${from}`
    const [expected, loaded] = [await source.query(sums(`(${query}) q`)), await target.query(sums('loaded'))]
    expect(loaded.rows).toEqual(expected.rows)
    expect(heard.totals.rowsRead).toBe(200_000)
    expect(heard.totals.bytesRead).toBeGreaterThan(40_000_000)
  })

  it('reads several tables, one of them empty, in one snapshot', async () => {
    await source.query(`create table one as select 1 as a; create table "Two "" tables" (b text)`)
    const { rowStreams } = read({ tables: [{ name: 'one' }, { name: 'Two " tables' }, { name: 'one' }] })
    const seen: [string, number][] = []
    for await (const rowStream of rowStreams) {
      seen.push([rowStream.table, await loadRowStream(target, 'loaded', rowStream)])
      await source.query('insert into one values (2)')
    }
    expect(seen).toEqual([
      ['one', 1],
      ['Two " tables', 0],
      ['one', 1],
    ])
  })

  it('accepts duplicate column names, WITH, a trailing comment and a semicolon', async () => {
    const { tables } = await load({
      query: `with w as (select 1 as a) select w.a, w.a, 'x;' as "A b" from w order by 1 -- the end\n ; `,
    })
    expect(tables['']).toEqual({ shape: ['a INTEGER', 'a_2 INTEGER', 'a_b TEXT'], rows: [['1', '1', 'x;']] })
  })

  it.each([
    ['select 1; drop table one', 'STATEMENT_INVALID'],
    [`select 1) q) to program 'touch /tmp/broken-out' --`, 'STATEMENT_INVALID'],
    ['select 1) as source(c1)) to stdout; drop table one; --', 'STATEMENT_INVALID'],
    ['select 1 /*', 'STATEMENT_INVALID'],
    ['drop table one', 'STATEMENT_NOT_ALLOWED'],
    ['delete from one returning a', 'STATEMENT_NOT_ALLOWED'],
    ['with gone as (delete from one returning a) select * from gone', 'STATEMENT_FAILED'],
    [`copy one to program 'touch /tmp/broken-out'`, 'STATEMENT_NOT_ALLOWED'],
    ['show all', 'STATEMENT_NOT_ALLOWED'],
    ['commit', 'STATEMENT_NOT_ALLOWED'],
    [`select nextval('counted')`, 'STATEMENT_NOT_ALLOWED'],
    ['select pg_catalog.set_config($1, null, true)', 'STATEMENT_FAILED'],
    ['selct 1', 'STATEMENT_INVALID'],
    ['', 'NOTHING_TO_READ'],
    ['select nothing from one', 'TABLE_MISSING'],
    ['select 1 / (a - 1) from one', 'STATEMENT_FAILED'],
  ])('rejects the statement %j', async (query, code) => {
    await source.query('create sequence if not exists counted')
    await expect(load({ query })).rejects.toMatchObject({ name: 'SourceProblem', code })
    expect((await source.query('select from one')).rowCount).toBeGreaterThan(0)
  })

  it.each<[string, Partial<DatabaseConfig>, RegExp]>([
    ['AUTHENTICATION_FAILED', { username: reader, password: 'not-the-password' }, /rejected user "reader_\w+"/],
    ['DATABASE_MISSING', { database: 'nowhere' }, /no database "nowhere"/],
    ['CONNECTION_REFUSED', { port: 1 }, /port 1\. Check the port/],
    ['TLS_NOT_OFFERED', { ssl: true }, /does not offer encrypted/],
    [
      'PERMISSION_DENIED',
      { username: reader, password: 'reads-only', query: 'select * from secret' },
      /may not read.*permission denied for table secret/,
    ],
    ['TABLE_MISSING', { query: 'select * from nothing_here' }, /relation "nothing_here" does not exist/],
  ])('returns %s with a message that explains the cause without the password', async (code, changes, sentence) => {
    await source.query('create table if not exists secret (a int)')
    const config = postgresConfig(database, { query: 'select 1', ...changes })
    const problem = await testDatabaseConnection(config, here, never).catch((error: Error) => error)
    expect(problem).toMatchObject({ name: 'SourceProblem', code, message: expect.stringMatching(sentence) })
    expect(JSON.stringify(problem) + (problem as Error).message).not.toContain(config.password)
  })

  it.each(['before the first row is asked for', 'in the middle'])(
    'fails with CONNECTION_LOST when the server closes the connection %s',
    async (when) => {
      const { rowStreams } = read({ query: 'select g, repeat(md5(g::text), 30) from generate_series(1, 3000000) g' })
      const goAway = () =>
        source.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice' and datname = $1`,
          [database],
        )
      const reading = async () => {
        for await (const { content } of rowStreams) {
          if (content.format !== 'copy-binary') throw new Error()
          if (when !== 'in the middle') {
            await goAway()
            // Waits until the reader has received the message.
            await pause(200)
          }
          for await (const chunk of content.rows([{ dataType: 'INTEGER' }, { dataType: 'TEXT' }])) {
            await goAway()
            chunk.release?.()
          }
        }
      }
      await expect(reading()).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
    },
  )

  it('rejects rows whose values are too long, and reads the others', async () => {
    const mega = 1024 ** 2
    const query = `select id, case id when 2 then repeat('x', ${16 * mega + 1}) when 3 then repeat('x', ${16 * mega}) when 4 then repeat('x', ${70 * mega}) else 'y' end as note, 7 as last from generate_series(1, 5) id`
    const { rejected, tables } = await load({ query })
    expect(Object.values(tables).flatMap(({ rows }) => rows.map(([id, note]) => [id, String(note).length]))).toEqual([
      ['1', 1],
      ['3', 16 * mega],
      ['5', 1],
    ])
    expect(rejected).toEqual([
      { line: 2, column: 'note', reason: 'The value is longer than 16 MB.', raw: '' },
      { line: 4, reason: expect.stringContaining('64 MB'), raw: '' },
    ])
  }, 60_000)

  it('stops and ends the query at the server when no data arrives in time or the read is aborted', async () => {
    const query = 'select pg_sleep(case when g = 3000 then 60 else 0 end)::text from generate_series(1, 3000) g'
    const { rowStreams } = read({ query }, { ...databaseLimits, firstRow: 300, silence: 300 })
    const loading = async (all: typeof rowStreams) => {
      for await (const rowStream of all) await loadRowStream(target, 'loaded', rowStream)
    }
    await expect(loading(rowStreams)).rejects.toMatchObject({ code: 'SOURCE_SILENT' })
    const cancel = new AbortController()
    const aborted = createDatabaseSource(here).read(
      postgresConfig(database, { query }),
      listener().report,
      cancel.signal,
    )
    setTimeout(() => cancel.abort(new Error('cancelled')), 200)
    const started = performance.now()
    await expect(loading(aborted)).rejects.toThrow('cancelled')
    // The query takes a minute.
    expect(performance.now() - started).toBeLessThan(30_000)
    // The server ends neither query by itself before the minute is over.
    const running = async () => {
      const { rows } = await source.query(
        `select query from pg_stat_activity where datname = $1 and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
        [database],
      )
      return rows.length
    }
    await until(async () => (await running()) === 0, { within: 5_000 })
  })
})
