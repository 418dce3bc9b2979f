import { describe, expect, it } from '@jest/globals'
import { RowEncoder, TupleBuffer } from '@sluice/row-stream'
import oracledb from 'oracledb'
import { oracleColumnType as oracleColumn, createValueConverter, getFetchType } from '../../oracle/column-types.ts'
import {
  quoteName,
  sqlServerColumnType as serverColumn,
  assertQuery,
  readExpression,
} from '../../sql-server/column-types.ts'
import { wrapQuery } from '../database-session.ts'
import { buildStatement } from '../database-session.ts'

describe('SQL Server columns and statements', () => {
  const field = (type: string | null, precision = 0, scale = 0, user: string | null = null) => ({
    name: 'x',
    system_type_name: type,
    user_type_name: user,
    precision,
    scale,
  })

  it.each([
    ['bit', 'BOOLEAN', 'c1'],
    ['tinyint', 'SMALLINT', 'c1'],
    ['bigint', 'BIGINT', 'c1'],
    ['decimal(38,10)', 'DECIMAL', 'convert(varchar(60), c1)'],
    ['money', 'DECIMAL', 'convert(varchar(60), c1, 2)'],
    ['real', 'FLOAT', 'c1'],
    ['float', 'DOUBLE', 'c1'],
    ['date', 'DATE', 'c1'],
    ['time(7)', 'TEXT', 'convert(varchar(20), c1)'],
    ['datetime2(7)', 'TIMESTAMP', 'c1'],
    ['datetimeoffset(3)', 'TIMESTAMPTZ', 'c1'],
    ['nvarchar(max)', 'TEXT', 'c1'],
    ['uniqueidentifier', 'TEXT', 'c1'],
    ['varbinary(10)', 'TEXT', 'c1'],
    ['sql_variant', 'TEXT', 'convert(nvarchar(4000), c1)'],
    ['something new', 'TEXT', 'c1'],
  ])('maps %s to %s', (type, dataType, expression) => {
    expect(serverColumn(field(type, 38, 10))).toMatchObject({ dataType })
    expect(readExpression('c1', field(type))).toBe(expression)
  })

  it('reports the digits of numeric, maps geography to GEOMETRY and reads hierarchyid as text', () => {
    expect(serverColumn(field('numeric(12,3)', 12, 3))).toEqual({ dataType: 'DECIMAL', precision: 12, scale: 3 })
    expect(serverColumn(field(null, 0, 0, 'geography'))).toEqual({ dataType: 'GEOMETRY' })
    expect(readExpression('c1', field(null, 0, 0, 'hierarchyid'))).toBe('c1.ToString()')
  })

  it('wraps a query in a subquery, escapes table names and rejects text that does not start with SELECT', () => {
    expect(buildStatement({ table: 't', schema: 'a]b', name: 't' }, quoteName)).toBe('select * from [a]]b].[t]')
    expect(wrapQuery('select 1 -- one', ['c1'], 1)).toBe('select c1 from (\nselect 1 -- one\n) as source(c1)')
    for (const text of [
      'drop table t',
      'exec p',
      '/* select */ update t set a = 1',
      'with a as (select 1) select * from a',
      '',
    ])
      expect(() => assertQuery(text)).toThrow()
    for (const text of ['SELECT 1', '-- why\n /* what */ select 1']) expect(() => assertQuery(text)).not.toThrow()
  })
})

describe('Oracle columns', () => {
  it.each([
    [oracledb.DB_TYPE_NUMBER, 4, 0, { dataType: 'SMALLINT' }],
    [oracledb.DB_TYPE_NUMBER, 9, 0, { dataType: 'INTEGER' }],
    [oracledb.DB_TYPE_NUMBER, 18, 0, { dataType: 'BIGINT' }],
    [oracledb.DB_TYPE_NUMBER, 19, 0, { dataType: 'DECIMAL', precision: 19, scale: 0 }],
    [oracledb.DB_TYPE_NUMBER, 10, 2, { dataType: 'DECIMAL', precision: 10, scale: 2 }],
    [oracledb.DB_TYPE_NUMBER, 0, -127, { dataType: 'DECIMAL' }],
    [oracledb.DB_TYPE_NUMBER, 126, -127, { dataType: 'DECIMAL' }],
    [oracledb.DB_TYPE_NUMBER, 5, -2, { dataType: 'DECIMAL' }],
    [oracledb.DB_TYPE_NUMBER, 3, 5, { dataType: 'DECIMAL' }],
    [oracledb.DB_TYPE_BINARY_DOUBLE, 0, 0, { dataType: 'DOUBLE' }],
    [oracledb.DB_TYPE_DATE, 0, 0, { dataType: 'TIMESTAMP' }],
    [oracledb.DB_TYPE_TIMESTAMP_LTZ, 0, 6, { dataType: 'TIMESTAMPTZ' }],
    [oracledb.DB_TYPE_CLOB, 0, 0, { dataType: 'TEXT' }],
    [oracledb.DB_TYPE_BOOLEAN, 0, 0, { dataType: 'BOOLEAN' }],
    [oracledb.DB_TYPE_JSON, 0, 0, { dataType: 'JSONB' }],
  ])('maps %p(%i, %i) to a warehouse type', (dbType, precision, scale, offered) => {
    expect(oracleColumn({ name: 'X', dbType, precision, scale })).toEqual(offered)
  })

  it('fetches numbers, times and NCLOB as text, and BLOB as RAW', () => {
    for (const dbType of [
      oracledb.DB_TYPE_NUMBER,
      oracledb.DB_TYPE_DATE,
      oracledb.DB_TYPE_TIMESTAMP_TZ,
      oracledb.DB_TYPE_NCLOB,
    ])
      expect(getFetchType({ dbType })).toEqual({ type: oracledb.DB_TYPE_VARCHAR })
    expect(getFetchType({ dbType: oracledb.DB_TYPE_BLOB })).toEqual({ type: oracledb.DB_TYPE_RAW })
    expect(getFetchType({ dbType: oracledb.DB_TYPE_VARCHAR })).toBeUndefined()
  })

  it('converts intervals to ISO 8601, and removes the space before the year of a date', () => {
    const span = createValueConverter({ name: 'X', dbType: oracledb.DB_TYPE_INTERVAL_DS })!
    expect(span({ days: 3, hours: -4, minutes: 0, seconds: 5, fseconds: 250_000_000 })).toBe('P3DT-4H5.25S')
    expect(span({ days: 0, hours: 0, minutes: 0, seconds: 0, fseconds: -5 })).toBe('PT-0.000000005S')
    expect(span({ years: 1, months: 2 })).toBe('P1Y2M')
    expect(span({ years: 0, months: 0 })).toBe('PT0S')
    expect(createValueConverter({ name: 'X', dbType: oracledb.DB_TYPE_DATE })!(' 2026-11-21T01:02:03')).toBe(
      '2026-11-21T01:02:03',
    )
  })

  it('accepts a timestamp with nanoseconds and an offset, and rejects a negative year', () => {
    const encoder = new RowEncoder([{ label: 'at', dataType: 'TIMESTAMPTZ' }], new TupleBuffer())
    expect(encoder.write(['2026-11-21T01:02:03.123456789+05:30'])).toBe(true)
    expect(encoder.write(['-0044-03-15T00:00:00.000000000+00:00'])).toBe(false)
  })
})
