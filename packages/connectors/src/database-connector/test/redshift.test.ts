import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeUnless } from '@sluice/testing/skip-tests'
import type { Client } from 'pg'
import { outgoingAllowed } from '@sluice/http-client'
import { redshift } from '../../redshift/redshift-connector.ts'
import { createDatabaseConnector } from '../database-connector.ts'
import { databaseLimits, type DatabaseConfig } from '../database-config.ts'
import { createDatabaseSource, testDatabaseConnection } from '../database-source.ts'
import { here, listener, loadRowStream, postgresConfig, shape, superuser, word } from './load-row-stream.ts'
import { asRedshift } from './redshift-in-postgres.ts'

const never = new AbortController().signal

/** Against a cluster: `REDSHIFT_SOURCE_URL=postgres://user:password@host:5439/database`, encrypted, any certificate. */
const given = process.env['REDSHIFT_SOURCE_URL']

function configFor(database: string, changes: Partial<DatabaseConfig> = {}): DatabaseConfig {
  if (!given) return postgresConfig(database, { kind: 'redshift', ...changes })
  const url = new URL(given)
  return {
    kind: 'redshift',
    host: url.hostname,
    port: Number(url.port || 5439),
    database: url.pathname.slice(1),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    ssl: true,
    trustServerCertificate: true,
    ...changes,
  }
}

describeUnless(given && 'a cluster takes its place: REDSHIFT_SOURCE_URL is set')(
  'Redshift as a source, simulated with PostgreSQL',
  () => {
    const database = word('redshift_')
    const reader = word('reader_')
    let source: Client
    let target: Client

    beforeAll(async () => {
      target = await superuser()
      await target.query(`create database ${database}`)
      await target.query(`create role ${reader} login password 'reads-only'`)
      source = await superuser(database)
      await asRedshift(source)
      await source.query('create table one as select 1 as a; create table secret (a int)')
    })
    afterAll(async () => {
      await source?.end()
      await target?.query(`drop table if exists loaded_from_redshift`)
      await target?.query(`drop database if exists ${database} with (force)`)
      await target?.query(`drop role if exists ${reader}`)
      await target?.end()
    })

    const read = (changes: Partial<DatabaseConfig>, limits = databaseLimits, signal = never) => {
      const { report, ...heard } = listener()
      return {
        heard,
        rowStreams: createDatabaseSource(here, limits).read(configFor(database, changes), report, signal),
      }
    }
    async function load(changes: Partial<DatabaseConfig>) {
      const { heard, rowStreams } = read(changes)
      const loaded: { shape: string[]; rows: unknown[][] } = { shape: [], rows: [] }
      for await (const rowStream of rowStreams) {
        await loadRowStream(target, 'loaded_from_redshift', rowStream)
        const texts = rowStream.columns.map(({ name }) => `"${name}"::text`).join(', ')
        const { rows } = await target.query({ text: `select ${texts} from loaded_from_redshift`, rowMode: 'array' })
        Object.assign(loaded, { shape: shape(rowStream.columns), rows })
      }
      return { ...heard, ...loaded }
    }

    it('fails with OTHER_PROTOCOL if the server is PostgreSQL', async () => {
      const error = await testDatabaseConnection(configFor('postgres', { query: 'select 1' }), here, never).catch(
        (thrown) => thrown,
      )
      expect(error).toMatchObject({
        code: 'OTHER_PROTOCOL',
        message: expect.stringContaining('is PostgreSQL, not Amazon Redshift. Choose the type SQL_DATABASE_D.'),
      })
    })

    it('maps every column type and loads its values', async () => {
      await source.query(`
      create table every_type (
        id int primary key, small int2, big int8, exact numeric(38,10), whole numeric(18,0), single float4, double float8, truth bool,
        day date, at timestamp, moment timestamptz, clock time, zoned timetz, c char(4), v varchar(65535), doc super, bytes varbyte, sketch hllsketch,
        place geometry, span interval);
      insert into every_type values
        (1, -32768, 9223372036854775807, -1234567890123456789012345678.0123456789, 7, 0.1, 1e-300, true, '0001-01-01',
         '2026-11-21 01:02:03.456789', '2026-11-21 01:02:03+05:30', '23:59:59.5', '10:00:00+02', 'ab', E'tab\\t ☃ \\\\ \\n',
         '{"b":[1,null]}', '00ff', '{"version":1}', 'POINT(1 2)', '1 year 2 days'),
        (2, 0, -1, 0, 0, 'NaN', '-Infinity', false, '9999-12-31', '1969-12-31 23:59:59.999999', '1969-12-31 23:59:59.999999+00',
         '00:00', '00:00+00', '', '', 'null', '', '{}', 'POINT EMPTY', '-1 mon');
      insert into every_type (id) values (3)`)
      const { rows, shape: columns } = await load({ tables: [{ schema: 'public', name: 'every_type' }] })
      expect(columns).toEqual([
        'id INTEGER',
        'small SMALLINT',
        'big BIGINT',
        'exact DECIMAL (38,10)',
        'whole DECIMAL (18,0)',
        'single FLOAT',
        'double DOUBLE',
        'truth BOOLEAN',
        'day DATE',
        'at TIMESTAMP',
        'moment TIMESTAMPTZ',
        'clock TEXT',
        'zoned TEXT',
        'c TEXT',
        'v TEXT',
        'doc JSONB',
        'bytes TEXT',
        'sketch TEXT',
        'place GEOMETRY',
        'span TEXT',
      ])
      const [first, second, third] = rows
      expect(first).toEqual([
        '1',
        '-32768',
        '9223372036854775807',
        '-1234567890123456789012345678.0123456789',
        '7',
        '0.1',
        '1e-300',
        'true',
        '0001-01-01',
        '2026-11-21 01:02:03.456789',
        '2026-11-20 19:32:03+00',
        '23:59:59.5',
        '10:00:00+02',
        'ab  ',
        'tab\t ☃ \\ \n',
        '{"b": [1, null]}',
        '\\x00ff',
        '{"version":1}',
        'SRID=4326;POINT(1 2)',
        '1 year 2 days',
      ])
      expect(second!.slice(5, 11)).toEqual([
        'NaN',
        '-Infinity',
        'false',
        '9999-12-31',
        '1969-12-31 23:59:59.999999',
        '1969-12-31 23:59:59.999999+00',
      ])
      expect(second!.slice(14, 18)).toEqual(['', 'null', '\\x', '{}'])
      expect(third!.slice(1)).toEqual(Array(19).fill(null))
    })

    it('loads 60,000 small and large rows, and counts them', async () => {
      const query = `select g as id, repeat(md5(g::text), (g % 7) * case when g % 1000 = 0 then 300 else 1 end) as text, nullif(g % 3, 0) as maybe from generate_series(1, 60000) g`
      const { heard, rowStreams } = read({ query })
      for await (const rowStream of rowStreams)
        expect(await loadRowStream(target, 'loaded_from_redshift', rowStream)).toBe(60_000)
      const sums = (from: string) =>
        `select count(*), sum(hashtextextended(row(id, text, maybe)::text, 0)) from ${from}`
      const expected = await source.query(sums(`(${query}) q`))
      expect((await target.query(sums('loaded_from_redshift'))).rows).toEqual(expected.rows)
      expect(heard.totals.rowsRead).toBe(60_000)
    })

    it('reads several tables, and names the first one that cannot be read', async () => {
      await source.query('create table one_of_two as select 1 as a; create table two_of_two as select 2 as b')
      const tables = ['one_of_two', 'two_of_two'].map((name) => ({ schema: 'public', name }))
      const loaded: [string, number][] = []
      for await (const rowStream of read({ tables }).rowStreams)
        loaded.push([rowStream.table, await loadRowStream(target, 'loaded_from_redshift', rowStream)])
      expect(loaded).toEqual([
        ['one_of_two', 1],
        ['two_of_two', 1],
      ])
      const wrong = [...tables, { name: 'gone' }, { name: 'gone too' }]
      await expect(read({ tables: wrong }).rowStreams[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: 'TABLE_MISSING',
        message: expect.stringMatching(/^1 of 4 tables cannot be read, .* gone: A table or column does not exist/),
      })
    })

    it('makes the server wait while the consumer is slow, also when rows become much larger', async () => {
      const query = `select repeat('x', case when g > 50 then 1000000 else 1 end) as text from generate_series(1, 110) g`
      let taken = 0
      for await (const { content } of read({ query }).rowStreams) {
        if (content.format !== 'copy-binary') throw new Error('not binary')
        for await (const { bytes, release } of content.rows([{ dataType: 'TEXT' }])) {
          if (taken === 0) {
            await pause(1_500)
            const { rows } = await source.query(
              `select wait_event from pg_stat_activity where application_name = 'sluice' and datname = $1`,
              [database],
            )
            expect(rows).toEqual([{ wait_event: 'ClientWrite' }])
          }
          taken += bytes.length
          release?.()
        }
      }
      expect(taken).toBe(110 * (2 + 4) + 50 + 60 * 1_000_000)
    })

    it('rejects rows whose value does not fit the stored type, and loads the others', async () => {
      const { heard, rowStreams } = read({ query: `select g as n from generate_series(32760, 32770) g` })
      for await (const rowStream of rowStreams)
        expect(await loadRowStream(target, 'loaded_from_redshift', rowStream, [{ dataType: 'SMALLINT' }])).toBe(8)
      expect(heard.rejected[0]).toMatchObject({ line: 9, column: 'n', reason: 'The value does not fit SMALLINT.' })
    })

    it.each([
      ['select 1; drop table one', 'STATEMENT_INVALID'],
      ['select 1) as source(c1); drop table one; --', 'STATEMENT_INVALID'],
      ['drop table one', 'STATEMENT_NOT_ALLOWED'],
      ['delete from one', 'STATEMENT_NOT_ALLOWED'],
      [`unload ('select 1') to 's3://bucket/' iam_role default`, 'STATEMENT_INVALID'],
      ['commit', 'STATEMENT_NOT_ALLOWED'],
      ['select nothing from one', 'TABLE_MISSING'],
      ['select 1 / (a - 1) from one', 'STATEMENT_FAILED'],
      ['', 'NOTHING_TO_READ'],
    ])('rejects the statement %j', async (query, code) => {
      await expect(load({ query })).rejects.toMatchObject({ name: 'SourceProblem', code })
      expect((await source.query('select from one')).rowCount).toBe(1)
    })

    it.each<[string, Partial<DatabaseConfig>, RegExp]>([
      ['AUTHENTICATION_FAILED', { username: reader, password: 'not-the-password' }, /rejected user "reader_\w+"/],
      ['DATABASE_MISSING', { database: 'nowhere' }, /Redshift at .* no database "nowhere"/],
      ['CONNECTION_REFUSED', { port: 1 }, /Amazon Redshift runs there/],
      ['TLS_NOT_OFFERED', { ssl: true }, /does not offer encrypted/],
      [
        'PERMISSION_DENIED',
        { username: reader, password: 'reads-only', query: 'select * from secret' },
        /may not read/,
      ],
    ])('returns %s with a message that explains the cause without the password', async (code, changes, sentence) => {
      const config = configFor(database, { query: 'select 1', ...changes })
      const problem = await testDatabaseConnection(config, here, never).catch((error: Error) => error)
      expect(problem).toMatchObject({ name: 'SourceProblem', code, message: expect.stringMatching(sentence) })
      expect((problem as Error).message).not.toContain(config.password)
    })

    it('lists the tables, and omits system tables', async () => {
      const { host: hostname, port, username, password } = configFor(database)
      const settings = {
        jdbcSource: { hostname: given ? hostname : '127.0.0.1', port, database, username },
        roleIdentifier: 'default',
        region: 'DEFAULT',
      }
      const reading = { type: 'WAREHOUSE_A', settings, secrets: { password } } as never
      const connector = createDatabaseConnector(redshift, {
        filesDirectory: '',
        allowed: outgoingAllowed().parse('127.0.0.1'),
      })
      const tables = await connector.listOptions!('tables', reading, never)
      expect(tables).toContainEqual({ id: 'public.one', code: 'public', name: 'one' })
      expect(tables!.some(({ code }) => code === 'pg_catalog')).toBe(false)
    })

    it('stops when aborted, and fails with CONNECTION_LOST when the server closes the connection', async () => {
      const query = 'select g, repeat(md5(g::text), 30) from generate_series(1, 300000) g'
      const types = [{ dataType: 'INTEGER' }, { dataType: 'TEXT' }] as const
      const cancel = new AbortController()
      const first = async (rowStreams: ReturnType<typeof read>['rowStreams'], act: () => unknown) => {
        for await (const { content } of rowStreams) {
          if (content.format !== 'copy-binary') throw new Error('not binary')
          for await (const chunk of content.rows(types)) {
            await act()
            chunk.release?.()
          }
        }
      }
      const { rowStreams } = read({ query }, databaseLimits, cancel.signal)
      const began = performance.now()
      await expect(first(rowStreams, () => cancel.abort(new Error('cancelled')))).rejects.toThrow('cancelled')
      expect(performance.now() - began).toBeLessThan(5_000)
      const killing = () =>
        source.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice' and datname = $1`,
          [database],
        )
      await expect(first(read({ query }).rowStreams, killing)).rejects.toMatchObject({ code: 'CONNECTION_LOST' })
    })
  },
)

describeUnless(given ? undefined : 'set REDSHIFT_SOURCE_URL')('Redshift as a source, on a real cluster', () => {
  it('connects, maps column types and reads a row', async () => {
    const query = `select 1::smallint as s, 2.50::numeric(10,2) as d, 'x'::varchar as v, getdate() as t, json_parse('[1]') as j`
    const config = configFor('', { query })
    await testDatabaseConnection(config, here, never)
    const { report, rejected } = listener()
    for await (const rowStream of createDatabaseSource(here).read(config, report, never)) {
      expect(rowStream.columns.map(({ dataType }) => dataType)).toEqual([
        'SMALLINT',
        'DECIMAL',
        'TEXT',
        'TIMESTAMP',
        'JSONB',
      ])
      if (rowStream.content.format !== 'copy-binary') throw new Error('not binary')
      for await (const chunk of rowStream.content.rows(rowStream.columns)) chunk.release?.()
    }
    expect(rejected).toEqual([])
  })
})
