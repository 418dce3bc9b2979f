import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import oracledb from 'oracledb'
import type { Client } from 'pg'
import { type StandIn, tdsStandIn } from '@sluice/warehouses/testing/stand-in'
import { buildFilteredQuery, buildLargestQuery } from '../../../oracle/oracle-session.ts'
import type { OracleField } from '../../../oracle/column-types.ts'
import type { DatabaseConfig } from '../../database-config.ts'
import { createDatabaseSource } from '../../database-source.ts'
import { here, listener, loadRowStream, postgresConfig, superuser, word } from '../../test/load-row-stream.ts'
import { asRedshift } from '../../test/redshift-in-postgres.ts'
import type { StoredCursor } from '../increment-settings.ts'

const never = new AbortController().signal
const target = word('loaded_')
let superuserClient: Client
beforeAll(async () => {
  superuserClient = await superuser()
})
afterAll(async () => {
  await superuserClient?.query(`drop table if exists ${target}`)
  await superuserClient?.end()
})

/** Reads the first stream. Returns the texts of its rows, and what the stream says about the increment. */
async function read(config: DatabaseConfig) {
  for await (const rowStream of createDatabaseSource(here).read(config, listener().report, never)) {
    await loadRowStream(superuserClient, target, rowStream)
    const { rows } = await superuserClient.query({
      text: `select t::text from ${target} t order by 1`,
      rowMode: 'array',
    })
    const { deletedColumn, whole } = rowStream
    return { rows: rows.flat(), cursor: rowStream.cursor?.() as StoredCursor, deletedColumn, isWhole: whole?.() }
  }
  throw new Error('The source has no stream.')
}

describe('increments of Redshift, simulated with PostgreSQL', () => {
  const database = word('redshift_')
  let source: Client
  beforeAll(async () => {
    await superuserClient.query(`create database ${database}`)
    source = await superuser(database)
    await asRedshift(source)
  })
  afterAll(async () => {
    await source?.end()
    await superuserClient?.query(`drop database if exists ${database} with (force)`)
  })

  it('contain new, tied, late and deleted rows, and rows without a cursor', async () => {
    await source.query(`create table visits (id int, moved timestamp, gone boolean);
      insert into visits values (1, '2026-01-01 10:00:00.25', null), (2, '2026-01-01 09:00', true), (3, '2026-01-01 09:30', false)`)
    const increment = { cursorColumn: 'Moved', key: ['ID'], deletedColumn: 'gone', lookback: 600, storesCursor: true }
    const config = postgresConfig(database, { kind: 'redshift', query: 'select * from visits', increment })
    const first = await read(config)
    expect(first).toMatchObject({
      rows: ['(1,"2026-01-01 10:00:00.25",)', '(3,"2026-01-01 09:30:00",f)'],
      cursor: { kind: 'TIMESTAMP', value: '2026-01-01 10:00:00.250000000' },
      deletedColumn: undefined,
    })
    await source.query(`insert into visits values (4, '2026-01-01 09:50:00.25', null), (5, '2026-01-01 09:50', null), (6, null, null);
      update visits set gone = true, moved = '9999-01-01' where id = 3`)
    const second = await read({ ...config, increment: { ...increment, previousCursor: first.cursor } })
    expect(second.rows).toEqual([
      '(1,"2026-01-01 10:00:00.25",)',
      '(3,"9999-01-01 00:00:00",t)',
      '(4,"2026-01-01 09:50:00.25",)',
      '(6,,)',
    ])
    expect([second.deletedColumn, second.isWhole]).toEqual(['gone', undefined])
    // A cursor in the future is limited to the clock of the source.
    const { rows } = await source.query(
      `select '${second.cursor.value}'::timestamp - (now() at time zone 'UTC') < interval '0' as earlier`,
    )
    expect([rows[0].earlier, second.cursor.value! > '2026-01-02']).toEqual([true, true])
  })
})

describe('increments of SQL Server, simulated with a TDS server', () => {
  let server: StandIn
  let largest: string | null = '2026-01-31T12:30:00.007'
  beforeAll(async () => {
    const text = (...names: string[]) => names.map((name): [string, 'text'] => [name, 'text'])
    server = await tdsStandIn({
      answer({ text: statement }) {
        if (statement.includes('snapshot_isolation_state'))
          return {
            columns: [['state', 'int'], ...text('utc', 'local')],
            rows: [[1, '2026-02-01T00:00:00.1234567', '2026-02-01T01:00:00.1234567']],
          }
        if (statement.includes('dm_exec'))
          return {
            columns: [
              ...text('name', 'system_type_name', 'user_type_name'),
              ['precision', 'int'],
              ['scale', 'int'],
              ['error_message', 'text'],
              ['error_number', 'int'],
            ],
            rows: [
              ['id', 'int', null, 10, 0, null, null],
              ['moved', 'datetime', null, 23, 3, null, null],
              ['gone', 'bit', null, 1, 0, null, null],
            ],
          }
        if (statement.includes('max(')) return { columns: text('largest'), rows: [[largest]] }
        return {
          columns: [
            ['', 'int'],
            ['', 'text'],
            ['', 'bit'],
          ],
          rows: [[1, '2026-01-31 12:30:00.007', false]],
        }
      },
    })
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  it('are read by conditions in which literals have the type of the column', async () => {
    const increment = { cursorColumn: 'moved', key: ['id'], deletedColumn: 'gone', lookback: 60, storesCursor: true }
    const config = postgresConfig('shop', {
      kind: 'sql-server',
      port: server.port,
      query: 'select * from visits',
      increment,
    })
    const source = 'from (\nselect * from visits\n) as source(c1, c2, c3)'
    const { cursor } = await read(config)
    expect(cursor.value).toBe('2026-01-31 12:30:00.007000000')
    expect(server.statements.slice(-2).map(({ text }) => text)).toEqual([
      `select convert(varchar(60), max(c2), 126) as largest ${source}`,
      `select c1, c2, c3 ${source} where (c3 is null or c3 = 0)`,
    ])
    largest = '2026-02-01T00:59:00'
    const second = await read({ ...config, increment: { ...increment, previousCursor: cursor } })
    expect(second).toMatchObject({ cursor: { value: '2026-02-01 00:59:00.000000000' }, deletedColumn: 'gone' })
    const where = `where (c2 >= cast('2026-01-31T12:29:00.007' as datetime) or c2 is null)`
    expect(server.statements.slice(-2).map(({ text }) => text)).toEqual([
      `select convert(varchar(60), max(c2), 126) as largest ${source} ${where}`,
      `select c1, c2, c3 ${source} ${where}`,
    ])
    largest = '2026-02-01T02:00:00'
    const third = await read({ ...config, increment: { ...increment, previousCursor: second.cursor } })
    expect(third.cursor.value).toBe('2026-02-01 01:00:00.123456700')
    largest = null
    expect((await read({ ...config, increment: { ...increment, previousCursor: third.cursor } })).isWhole).toBe(true)
  })
})

describe('increments of Oracle, of which only the statements are tested', () => {
  const fields: OracleField[] = [
    { name: 'ID', dbType: oracledb.DB_TYPE_NUMBER },
    { name: 'DAY', dbType: oracledb.DB_TYPE_DATE },
    { name: 'AT', dbType: oracledb.DB_TYPE_TIMESTAMP },
    { name: 'MOMENT', dbType: oracledb.DB_TYPE_TIMESTAMP_TZ },
  ]
  const filter = (index: number, kind: StoredCursor['kind'], from: string) => ({ cursor: { index, kind, from } })

  it.each([
    [
      filter(0, 'NUMBER', '-12345678901234567890123456789012345678'),
      '"ID" >= (-12345678901234567890123456789012345678) or "ID" is null',
    ],
    [
      filter(1, 'TIMESTAMP', '2026-01-31 12:30:00.000000000'),
      `"DAY" >= to_date('2026-01-31 12:30:00', 'YYYY-MM-DD HH24:MI:SS') or "DAY" is null`,
    ],
    [
      filter(2, 'TIMESTAMP', '2026-01-31 12:30:00.123456789'),
      `"AT" >= to_timestamp('2026-01-31 12:30:00.123456789', 'YYYY-MM-DD HH24:MI:SS.FF9') or "AT" is null`,
    ],
    [
      filter(3, 'TIMESTAMPTZ', '2026-01-31 12:30:00.500000000'),
      `"MOMENT" >= to_timestamp_tz('2026-01-31 12:30:00.500000000 +00:00', 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM') or "MOMENT" is null`,
    ],
  ] as const)('compare columns with literals of their type', (given, condition) => {
    const table = 'select * from "SHOP"."VISITS"'
    expect(buildFilteredQuery(table, fields, given, { isTable: true })).toBe(`${table} where (${condition})`)
    expect(buildFilteredQuery('select 1', fields, given, { isTable: false })).toBe(
      `select * from (\nselect 1\n) where (${condition})`,
    )
    expect(buildLargestQuery(table, fields, given.cursor.index, given)).toBe(
      `select max("${fields[given.cursor.index]!.name}") from (\n${table}\n) where (${condition})`,
    )
  })

  it('exclude deleted rows from a full read', () => {
    const notDeleted = (dataType: 'BOOLEAN' | 'SMALLINT' | 'TIMESTAMP', index: number) =>
      buildFilteredQuery('select 1', fields, { notDeleted: { index, dataType } }, { isTable: true })
    expect(notDeleted('SMALLINT', 0)).toBe('select 1 where ("ID" is null or "ID" = 0)')
    expect(notDeleted('BOOLEAN', 0)).toBe('select 1 where ("ID" is null or "ID" = false)')
    expect(notDeleted('TIMESTAMP', 1)).toBe('select 1 where "DAY" is null')
    expect(buildFilteredQuery('select 1', fields, {}, { isTable: false })).toBe('select 1')
  })
})
