import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DataType } from '@sluice/contracts'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { RowEncoder, TupleBuffer, type RowColumn } from '../index.ts'

const sql: Record<DataType, string> = {
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DECIMAL: 'numeric',
  FLOAT: 'real',
  DOUBLE: 'double precision',
  BOOLEAN: 'boolean',
  CHARACTER_11: 'character(11)',
  VARCHAR_50: 'varchar(50)',
  VARCHAR_255: 'varchar(255)',
  TEXT: 'text',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  TIMESTAMPTZ: 'timestamptz',
  GEOMETRY: 'text',
  GEOMETRY_POINT: 'text',
  JSONB: 'jsonb',
}
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])

describe('the row encoder', () => {
  let client: Client

  beforeAll(async () => {
    client = new Client(process.env['TEST_DATABASE_URL'])
    await client.connect()
    await client.query(`set timezone = 'UTC'`)
  })
  afterAll(() => client?.end())

  /** Copies encoded values into a column of PostgreSQL, and returns them as PostgreSQL prints them. */
  async function copyAndRead(column: Omit<RowColumn, 'label'>, values: readonly unknown[]): Promise<(string | null)[]> {
    const buffer = new TupleBuffer()
    const encoder = new RowEncoder([{ label: 'value', ...column }], buffer)
    for (const value of values) if (!encoder.write([value])) throw new Error(encoder.fault!.reason)
    const { dataType, precision, scale } = column
    const type = precision === undefined ? sql[dataType] : `numeric(${precision},${scale})`
    await client.query(`create temp table copied (at serial, value ${type})`)
    const copy = client.query(copyFrom('copy copied (value) from stdin (format binary)'))
    copy.write(header)
    copy.write(buffer.take())
    await new Promise((resolve, reject) => copy.on('error', reject).on('finish', resolve).end(trailer))
    const { rows } = await client.query('select value::text from copied order by at')
    await client.query('drop table copied')
    return rows.map(({ value }) => value)
  }

  /** The reason why a value is refused, or undefined if it is encoded. */
  const refusal = (column: Omit<RowColumn, 'label'>, value: unknown): string | undefined => {
    const buffer = new TupleBuffer()
    const encoder = new RowEncoder([{ label: 'value', ...column }], buffer)
    const fits = encoder.write([value])
    if (!fits) expect(buffer.take()).toHaveLength(0)
    return fits ? undefined : encoder.fault!.reason
  }

  it.each<[DataType, unknown[], string[]]>([
    ['SMALLINT', [0, -32768, '32767', 5n, true], ['0', '-32768', '32767', '5', '1']],
    ['INTEGER', [-2147483648, '2147483647', 7n], ['-2147483648', '2147483647', '7']],
    [
      'BIGINT',
      ['9223372036854775807', -9223372036854775808n, 2 ** 53 - 1],
      ['9223372036854775807', '-9223372036854775808', '9007199254740991'],
    ],
    ['FLOAT', [0.1, -1.5, '2.5'], ['0.1', '-1.5', '2.5']],
    [
      'DOUBLE',
      [0.1, 1e300, '-1e-300', Number.POSITIVE_INFINITY, 'NaN'],
      ['0.1', '1e+300', '-1e-300', 'Infinity', 'NaN'],
    ],
    ['BOOLEAN', [true, 0, '1', 'f', 1n], ['true', 'false', 'true', 'false', 'true']],
    [
      'DATE',
      ['2026-11-21', '0001-01-01', '9999-12-31', '2024-02-29 00:00:00', new Date('1969-12-31')],
      ['2026-11-21', '0001-01-01', '9999-12-31', '2024-02-29', '1969-12-31'],
    ],
    [
      'TIMESTAMP',
      [
        '2026-11-21 09:30:00.123456',
        '0001-01-01T00:00',
        '9999-12-31 23:59:59.999999',
        '1999-12-31 23:59:59.9999999',
        '2026-11-21',
        Object.assign(new Date('2026-11-21T01:02:03.004Z'), { nanosecondsDelta: 0.000_567 }),
      ],
      [
        '2026-11-21 09:30:00.123456',
        '0001-01-01 00:00:00',
        '9999-12-31 23:59:59.999999',
        '2000-01-01 00:00:00',
        '2026-11-21 00:00:00',
        '2026-11-21 01:02:03.004567',
      ],
    ],
    [
      'TIMESTAMPTZ',
      ['2026-11-21 09:30:00+02:00', '2026-11-21T09:30:00.5Z', '2026-11-21 00:10:00 -0930', '2026-11-21 01:00:00+05'],
      ['2026-11-21 07:30:00+00', '2026-11-21 09:30:00.5+00', '2026-11-21 09:40:00+00', '2026-11-20 20:00:00+00'],
    ],
    ['VARCHAR_50', ['', 'ß'.repeat(50), '😀'.repeat(50)], ['', 'ß'.repeat(50), '😀'.repeat(50)]],
    ['CHARACTER_11', ['abcdefghijk', 'ab'], ['abcdefghijk', 'ab']],
    [
      'TEXT',
      [
        '',
        'plain',
        'x\ty\n\\',
        'naïve ☃ 😀',
        'long '.repeat(100),
        'ü'.repeat(100),
        12.5,
        10n ** 20n,
        false,
        new Uint8Array([0, 255, 16]),
        { a: [1n] },
        new Date('2026-11-21T01:02:03Z'),
      ],
      [
        '',
        'plain',
        'x\ty\n\\',
        'naïve ☃ 😀',
        'long '.repeat(100),
        'ü'.repeat(100),
        '12.5',
        '100000000000000000000',
        'false',
        '\\x00ff10',
        '{"a":["1"]}',
        '2026-11-21 01:02:03',
      ],
    ],
    [
      'JSONB',
      ['{"b": 1, "a": [null, "\\u00e9"]}', { x: 'y' }, '12', '"5e10000"'],
      ['{"a": [null, "é"], "b": 1}', '{"x": "y"}', '12', '"5e10000"'],
    ],
  ])('encodes %s values as PostgreSQL stores them', async (dataType, values, shown) => {
    expect(await copyAndRead({ dataType }, [...values, null, undefined])).toEqual([...shown, null, null])
  })

  it('encodes decimals without losing digits', async () => {
    const numbers = [
      '0',
      '0.00',
      '1',
      '-1',
      '10000',
      '0.0001',
      '0.00001',
      '-0.000000001',
      '99999999.9999',
      '12345678901234567890123456789.0123456789',
      '100000000',
      '0.10',
      '5.00000',
      '-0.5',
      '1234.5',
      '0.00010002',
      'NaN',
    ]
    expect(await copyAndRead({ dataType: 'DECIMAL' }, numbers)).toEqual(numbers)
    expect(
      await copyAndRead({ dataType: 'DECIMAL' }, [1.5, 7n, '007.50', '+3', '.5', '5.', '1e3', '-1.25E-3', 'Infinity']),
    ).toEqual(['1.5', '7', '7.50', '3', '0.5', '5', '1000', '-0.00125', 'Infinity'])
    expect(
      await copyAndRead({ dataType: 'DECIMAL', precision: 6, scale: 2 }, ['1234.5', '-9999.99', '1.5000', '0']),
    ).toEqual(['1234.50', '-9999.99', '1.50', '0.00'])
  })

  it('encodes random decimals as PostgreSQL parses their text', async () => {
    let seed = 20_261_121
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const digits = (count: number) => Array.from({ length: count }, () => (random(3) === 0 ? 0 : random(10))).join('')
    const numbers = Array.from(
      { length: 5_000 },
      () => `${random(2) ? '-' : ''}${digits(1 + random(30))}${random(3) ? `.${digits(1 + random(25))}` : ''}`,
    )
    const { rows } = await client.query('select value::numeric::text as value from unnest($1::text[]) value', [numbers])
    expect(await copyAndRead({ dataType: 'DECIMAL' }, numbers)).toEqual(rows.map(({ value }) => value))
  })

  it.each<[DataType, unknown, string]>([
    ['SMALLINT', 32_768, 'does not fit SMALLINT'],
    ['INTEGER', '2147483648', 'does not fit INTEGER'],
    ['INTEGER', 1.5, 'does not fit INTEGER'],
    ['INTEGER', 'x', 'is not a valid INTEGER'],
    ['BIGINT', '9223372036854775808', 'does not fit BIGINT'],
    ['BIGINT', 2 ** 53, 'is not a valid BIGINT'],
    ['DECIMAL', '1,5', 'is not a number'],
    ['DECIMAL', '', 'is not a number'],
    ['DECIMAL', '1e999999', 'is not a number'],
    ['FLOAT', 1e39, 'does not fit FLOAT'],
    ['DOUBLE', '', 'is not a number'],
    ['BOOLEAN', 2, 'is neither true nor false'],
    ['DATE', '2026-02-29', 'is not a valid DATE'],
    ['DATE', '2026-11-21 01:00', 'is not a valid DATE'],
    ['TIMESTAMP', '2026-11-21 24:00:00', 'is not a valid TIMESTAMP'],
    ['TIMESTAMP', new Date(Number.NaN), 'is not a valid TIMESTAMP'],
    ['VARCHAR_50', 'x'.repeat(51), 'is longer than 50 characters'],
    ['TEXT', 'a\0b', 'holds a NUL character, which text in the warehouse cannot'],
    ['TEXT', `${'long'.repeat(50)}\0`, 'holds a NUL character, which text in the warehouse cannot'],
    ['TEXT', '\ud800', 'holds half a character (a lone surrogate)'],
    ['TEXT', 'x'.repeat(16 * 1024 ** 2 + 1), 'is longer than 16 MB'],
    ['TEXT', '\u00e9'.repeat(8 * 1024 ** 2 + 1), 'is longer than 16 MB'],
    ['TEXT', Buffer.alloc(8 * 1024 ** 2), 'is longer than 16 MB'],
    ['JSONB', `"${'x'.repeat(16 * 1024 ** 2)}"`, 'is longer than 16 MB'],
    ['JSONB', '{"a"', 'is not valid JSON'],
    ['JSONB', '"a\\u0000"', 'holds a NUL character (\\u0000), which JSON in the warehouse cannot'],
    ['JSONB', '{"\\ud800": 1}', 'holds half a character (a lone surrogate)'],
    ['JSONB', '[1e140000]', 'holds a number with more digits than the warehouse can store'],
  ])('refuses a value that %s cannot store, with a reason (case %#)', (dataType, value, reason) => {
    expect(refusal({ dataType }, value)).toBe(reason)
  })

  it('encodes values of 16 MB and refuses rows of more than 64 MB', () => {
    const text = 'x'.repeat(16 * 1024 ** 2 - 6)
    const column = { label: 'value', dataType: 'TEXT' } as const
    const buffer = new TupleBuffer()
    const encoder = new RowEncoder([column, column, column, column, column], buffer)
    expect(encoder.write([text, text, text, text, ''])).toBe(true)
    expect(encoder.write([text, text, text, text, text])).toBe(false)
    expect(encoder.fault).toEqual({ column: 'value', reason: 'makes the row longer than 64 MB' })
  })

  it('refuses decimals with too many digits for their column', () => {
    const column = { dataType: 'DECIMAL', precision: 4, scale: 1 } as const
    expect([refusal(column, '1000'), refusal(column, '1.25'), refusal(column, '999.90')]).toEqual([
      'does not fit DECIMAL(4,1)',
      'has more than 1 digits after the point',
      undefined,
    ])
  })

  it('encodes dates with a zero year, month or day as null, and counts them', () => {
    const encoder = new RowEncoder([{ label: 'day', dataType: 'DATE' }], new TupleBuffer())
    for (const day of ['0000-00-00', '2026-00-01', '2026-11-00', '2026-11-21']) expect(encoder.write([day])).toBe(true)
    expect(encoder.nulled).toEqual([{ zeroDates: 3 }])
  })

  it('returns chunks of whole rows, and reuses returned memory', () => {
    const returned: ArrayBuffer[] = []
    const buffer = new TupleBuffer({ chunkBytes: 1000, reuse: () => returned.pop() })
    const encoder = new RowEncoder([{ label: 'text', dataType: 'TEXT' }], buffer)
    const sizes: number[] = []
    for (let row = 0; row < 100; row++) {
      encoder.write(['x'.repeat(94)])
      if (!buffer.full) continue
      const taken = buffer.take()
      sizes.push(taken.length)
      returned.push(taken.buffer)
    }
    expect(sizes).toEqual(Array.from({ length: 10 }, () => 1000))
    expect(returned).toHaveLength(1)
  })
})
