import { describe, expect, it } from '@jest/globals'
import { Readable } from 'node:stream'
import { given } from '../../test/row-fixtures.ts'
import { binary } from '../../test/copy-tuples.ts'
import type { TableFill } from '../sql-warehouse/sql-dialect.ts'
import type { StoredType } from '../warehouse.ts'
import { redshiftAccess } from './redshift-settings.ts'
import { csvRows } from './csv-cells.ts'
import { redshiftNames, stringLiteral } from './sql-identifiers.ts'
import { buildCopyStatement } from './redshift-loader.ts'
import { redshiftTypes } from './column-types.ts'

const settings = {
  url: 'postgres://admin:p%40ss@cluster.example.org/dev',
  staging: 's3://bucket/some/prefix/',
  role: 'arn:aws:iam::123456789012:role/loader',
  region: 'eu-west-1',
  accessKey: 'key',
  secretKey: 'secret',
}
const credentials = { key: 'abc', loadPassword: 'one', readPassword: 'two' }

function fillingOf(stored: readonly StoredType[]): TableFill {
  const columns = stored.map((each, index) => ({
    name: `c${index + 1}`,
    label: `Column ${index + 1}`,
    type: redshiftTypes.sqlType(each),
    nullable: true,
    stored: each,
  }))
  return {
    place: { schema: 'health', name: 'sluice~x' },
    columns,
    run: 'r',
    attempt: 1,
    quotedPlace: '"health"."cases"',
  }
}

async function csvOf(stored: readonly StoredType[], rows: (string | number | null)[][]): Promise<string> {
  const parts = await Array.fromAsync(csvRows(fillingOf(stored), given(rows), '~none', { rows: 0, bytes: 0 }))
  return Buffer.concat(parts).toString()
}

describe('rows for Redshift', () => {
  it('are written as CSV with exact values, and distinguish null from empty text', async () => {
    const stored: StoredType[] = [
      { dataType: 'TEXT' },
      { dataType: 'DECIMAL', precision: 10, scale: 3 },
      { dataType: 'DOUBLE' },
      { dataType: 'BOOLEAN' },
      { dataType: 'DATE' },
      { dataType: 'TIMESTAMP' },
      { dataType: 'TIMESTAMPTZ' },
    ]
    expect(
      await csvOf(stored, [
        ['say "é",\n\\N', '-12.5', '1e-300', 'f', '0001-01-01', '1969-12-31 23:59:59.999999', '2026-01-01 12:00:00+02'],
        ['', '0', 'NaN', 't', '9999-12-31', '2000-01-01 00:00:00', '2000-01-01 00:00:00+00'],
        [null, null, null, null, null, null, null],
      ]),
    ).toBe(
      [
        '"say ""é"",\n\\N",-12.500,1e-300,f,0001-01-01,1969-12-31 23:59:59.999999,2026-01-01 10:00:00.000000+00',
        '"",0.000,NaN,t,9999-12-31,2000-01-01 00:00:00.000000,2000-01-01 00:00:00.000000+00',
        '~none,~none,~none,~none,~none,~none,~none\n',
      ].join('\n'),
    )
  })

  it.each<[StoredType, string, RegExp]>([
    [{ dataType: 'TEXT' }, 'ü'.repeat(32_768), /column "Column 1": the text has 65,536 bytes, and 65,535/],
    [{ dataType: 'DECIMAL' }, '1e18', /more than 18 digits before the decimal point/],
    [
      { dataType: 'DECIMAL' },
      'NaN',
      /Redshift cannot store NaN or infinity in a decimal column. Load the column as text/,
    ],
  ])('are rejected with the column name if they do not fit %j', async (stored, value, message) => {
    await expect(csvOf([stored], [[value]])).rejects.toMatchObject({
      code: 'BAD_VALUE',
      message: expect.stringMatching(message),
    })
  })
})

describe('dates and times for Redshift outside the years 1 to 9999', () => {
  it.each<[StoredType, string]>([
    [{ dataType: 'DATE' }, '7fffffff'],
    [{ dataType: 'DATE' }, 'ffe00000'],
    [{ dataType: 'TIMESTAMP' }, '7fffffffffffffff'],
    [{ dataType: 'TIMESTAMPTZ' }, '8000000000000000'],
  ])('are rejected with the column name: %j %s', async (stored, bytes) => {
    const tuple = Buffer.from(`0001${(bytes.length / 2).toString(16).padStart(8, '0')}${bytes}`, 'hex')
    const content = binary(() => Readable.from([{ bytes: tuple }]))
    const rows = csvRows(fillingOf([stored]), content, '~none', { rows: 0, bytes: 0 })
    await expect(Array.fromAsync(rows)).rejects.toMatchObject({
      code: 'BAD_VALUE',
      message: expect.stringContaining('column "Column 1": the date is not between 0001-01-01 and 9999-12-31'),
    })
  })
})

describe('statements for Redshift', () => {
  it('copy from the bucket with the IAM role, and quote names', () => {
    const access = redshiftAccess(settings, credentials)
    const filling = fillingOf([{ dataType: 'TEXT' }])
    const columns = [{ ...filling.columns[0]!, name: `a") from 's3://evil` }]
    const place = { schema: `h"; drop`, name: `t'` }
    expect(buildCopyStatement(access, { place, columns, manifest: 'some/prefix/abc/r/m', nullWord: '~1' })).toBe(
      `copy "h""; drop"."t'" ("a"") from 's3://evil")
from 's3://bucket/some/prefix/abc/r/m' iam_role 'arn:aws:iam::123456789012:role/loader' region 'eu-west-1'
manifest format as csv gzip null as '~1' roundec maxerror 0 statupdate on`,
    )
    expect(
      buildCopyStatement({ ...access, role: 'default' }, { place, columns, manifest: 'm', nullWord: '~' }),
    ).toContain('iam_role default region')
  })

  it('quote string values, including backslashes', () => {
    expect(stringLiteral(`it's`)).toBe(`'it''s'`)
    expect(stringLiteral(`\\' or 1=1 --`)).toBe(`('' || chr(92) || ''' or 1=1 --')`)
    expect([redshiftNames.literal('12.5'), redshiftNames.literal('007'), redshiftNames.literal(null)]).toEqual([
      '12.5',
      `'007'`,
      'null',
    ])
  })

  it('use logins with passwords that satisfy the rules of Redshift', () => {
    const { logins, database, port, staging, ssl } = redshiftAccess(settings, credentials)
    expect(logins.service).toEqual({ user: 'admin', password: 'p@ss' })
    expect(logins.load.password).toMatch(/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w-]{8,64}$/)
    expect(logins.load.password).not.toBe(logins.read.password)
    expect([database, port, staging.bucket, staging.prefix, ssl]).toEqual([
      'sluice_abc',
      5439,
      'bucket',
      'some/prefix',
      { rejectUnauthorized: true },
    ])
    expect(() => redshiftAccess({ ...settings, staging: 'bucket/prefix' }, credentials)).toThrow(
      /s3:\/\/bucket\/prefix/,
    )
  })
})

describe('types of Redshift', () => {
  it.each([
    ['smallint', 'bigint', 'bigint'],
    ['date', 'timestamp with time zone', 'timestamp with time zone'],
    ['character varying(44)', 'character varying(200)', 'character varying(200)'],
    ['numeric(10,2)', 'numeric(12,6)', 'numeric(14,6)'],
    ['numeric(38,0)', 'numeric(10,2)', 'character varying(65535)'],
    ['integer', 'real', 'double precision'],
    ['bigint', 'double precision', 'character varying(65535)'],
    ['boolean', 'integer', 'character varying(65535)'],
  ])('widen %s and %s to %s', (one, other, both) => {
    expect([redshiftTypes.widest(one, other), redshiftTypes.widest(other, one)]).toEqual([both, both])
  })

  it('store a decimal with more than 38 digits as text', () => {
    expect(redshiftTypes.sqlType({ dataType: 'DECIMAL', precision: 50, scale: 10 })).toBe('character varying(65535)')
    expect(redshiftTypes.describe(redshiftTypes.sqlType({ dataType: 'DECIMAL' }))).toEqual({ dataType: 'DECIMAL' })
  })
})
