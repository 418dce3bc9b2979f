import type { Cell } from './decode-copy-tuples.ts'
import { bytes, type WrittenColumn } from './write-parquet-files.ts'

export interface TypedColumn extends WrittenColumn {
  /** The type of the table's column. */
  type: string
  cells: Cell[]
}

const text = (...values: string[]) => values.map((value) => new Uint8Array(Buffer.from(value)))
const fixed = (width: number) => ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: width }) as const
const int32 = { type: 'INT32' } as const
const int64 = { type: 'INT64' } as const
const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const moment = (unit: 'MILLIS' | 'MICROS' | 'NANOS', isAdjustedToUTC: boolean) =>
  ({ ...int64, logical_type: { type: 'TIMESTAMP', unit, isAdjustedToUTC } }) as const
const time = (unit: 'MILLIS' | 'MICROS' | 'NANOS') =>
  ({ logical_type: { type: 'TIME', unit, isAdjustedToUTC: true } }) as const
const signed = (bitWidth: number, isSigned = true) =>
  ({ logical_type: { type: 'INTEGER', bitWidth, isSigned } }) as const

/** Every type of Parquet with its edges, three values each, and what is to come of them. */
export const allTypes: Record<string, TypedColumn> = {
  flag: { element: { type: 'BOOLEAN' }, data: [true, false, true], type: 'BOOLEAN', cells: [true, false, true] },
  tiny: { element: { ...int32, ...signed(8) }, data: [-128, 0, 127], type: 'SMALLINT', cells: [-128, 0, 127] },
  old_tiny: { element: { ...int32, converted_type: 'INT_8' }, data: [-1, 0, 1], type: 'SMALLINT', cells: [-1, 0, 1] },
  byte: { element: { ...int32, ...signed(8, false) }, data: [0, 128, 255], type: 'SMALLINT', cells: [0, 128, 255] },
  small: {
    element: { ...int32, ...signed(16) },
    data: [-32768, 7, 32767],
    type: 'SMALLINT',
    cells: [-32768, 7, 32767],
  },
  word: { element: { ...int32, ...signed(16, false) }, data: [0, 7, 65535], type: 'INTEGER', cells: [0, 7, 65535] },
  plain: { element: int32, data: [-2147483648, 0, 2147483647], type: 'INTEGER', cells: [-2147483648, 0, 2147483647] },
  long_word: {
    element: { ...int32, converted_type: 'UINT_32' },
    data: [0, 2147483648, 4294967295],
    type: 'BIGINT',
    cells: ['0', '2147483648', '4294967295'],
  },
  big: {
    element: int64,
    data: [-(2n ** 63n), -1n, 2n ** 63n - 1n],
    type: 'BIGINT',
    cells: ['-9223372036854775808', '-1', '9223372036854775807'],
  },
  huge: {
    element: { ...int64, converted_type: 'UINT_64' },
    data: [0n, 18446744073709551615n, 9223372036854775808n],
    type: 'DECIMAL(20,0)',
    cells: ['0', '18446744073709551615', '9223372036854775808'],
  },
  single: { element: { type: 'FLOAT' }, data: [1.5, -0, NaN], type: 'FLOAT', cells: [1.5, -0, NaN] },
  double: {
    element: { type: 'DOUBLE' },
    data: [0.1, -1e300, Infinity],
    type: 'DOUBLE',
    cells: [0.1, -1e300, Infinity],
  },
  half: {
    element: { ...fixed(2), logical_type: { type: 'FLOAT16' } },
    data: [1.5, -2, 65504],
    type: 'FLOAT',
    cells: [1.5, -2, 65504],
  },
  money: {
    element: { ...int32, converted_type: 'DECIMAL', precision: 9, scale: 2 },
    data: [1n, -123456789n, 50n],
    type: 'DECIMAL(9,2)',
    cells: ['0.01', '-1234567.89', '0.50'],
  },
  exact: {
    element: { ...int64, converted_type: 'DECIMAL', precision: 18, scale: 6 },
    data: [999999999999999999n, -1n, 10000000000n],
    type: 'DECIMAL(18,6)',
    cells: ['999999999999.999999', '-0.000001', '10000.000000'],
  },
  wide: {
    element: { ...fixed(16), converted_type: 'DECIMAL', precision: 38, scale: 10 },
    data: [10n ** 38n - 1n, -(10n ** 37n), 5n],
    type: 'DECIMAL(38,10)',
    cells: ['9999999999999999999999999999.9999999999', '-1000000000000000000000000000.0000000000', '0.0000000005'],
  },
  text: { element: utf8, data: ['Zürich ☕', '', 'a\tb\\N"'], type: 'TEXT', cells: ['Zürich ☕', '', 'a\tb\\N"'] },
  long_text: {
    element: utf8,
    data: ['x'.repeat(100), 'é'.repeat(60), 'y'.repeat(5000)],
    type: 'TEXT',
    cells: ['x'.repeat(100), 'é'.repeat(60), 'y'.repeat(5000)],
  },
  choice: {
    element: { type: 'BYTE_ARRAY', converted_type: 'ENUM' },
    data: text('a', 'b', 'a'),
    type: 'TEXT',
    cells: ['a', 'b', 'a'],
  },
  old_text: { element: { type: 'BYTE_ARRAY' }, data: text('naïve', '', 'x'), type: 'TEXT', cells: ['naïve', '', 'x'] },
  blob: {
    element: { type: 'BYTE_ARRAY' },
    data: [bytes('00ff'), bytes(''), bytes('c3')],
    type: 'TEXT',
    cells: ['\\x00ff', '\\x', '\\xc3'],
  },
  block: {
    element: fixed(3),
    data: [bytes('000102'), bytes('ffffff'), bytes('616263')],
    type: 'TEXT',
    cells: ['\\x000102', '\\xffffff', '\\x616263'],
  },
  json: {
    element: { type: 'BYTE_ARRAY', converted_type: 'JSON' },
    data: [{ a: 1 }, [1, 'x'], 'text'],
    type: 'JSONB',
    cells: ['{"a":1}', '[1,"x"]', '"text"'],
  },
  bson: {
    element: { type: 'BYTE_ARRAY', converted_type: 'BSON' },
    data: text('a', 'b', ''),
    type: 'TEXT',
    cells: ['\\x61', '\\x62', '\\x'],
  },
  uuid: {
    element: { ...fixed(16), logical_type: { type: 'UUID' } },
    data: Array.from({ length: 3 }, () => bytes('00112233445566778899aabbccddeeff')),
    type: 'TEXT',
    cells: Array.from({ length: 3 }, () => '00112233-4455-6677-8899-aabbccddeeff'),
  },
  shape: {
    element: { type: 'BYTE_ARRAY', logical_type: { type: 'GEOMETRY' } },
    data: [
      { type: 'Point', coordinates: [1, 2] },
      { type: 'Point', coordinates: [0, 0] },
      { type: 'Point', coordinates: [0, 0] },
    ],
    type: 'GEOMETRY',
    cells: [
      '0101000000000000000000f03f0000000000000040',
      '010100000000000000000000000000000000000000',
      '010100000000000000000000000000000000000000',
    ],
  },
  span: {
    element: { ...fixed(12), converted_type: 'INTERVAL' },
    data: [bytes('010000000200000064000000'), bytes('000000000000000000000000'), bytes('0c00000000000000e8030000')],
    type: 'TEXT',
    cells: ['P1M2DT0.1S', 'P0M0DT0S', 'P12M0DT1S'],
  },
  day: {
    element: { ...int32, converted_type: 'DATE' },
    data: [0, -719162, 2932896],
    type: 'DATE',
    cells: ['1970-01-01', '0001-01-01', '9999-12-31'],
  },
  clock: {
    element: { ...int32, ...time('MILLIS') },
    data: [0, 1500, 86399999],
    type: 'TEXT',
    cells: ['00:00:00', '00:00:01.5', '23:59:59.999'],
  },
  fine_clock: {
    element: { ...int64, ...time('NANOS') },
    data: [0n, 1n, 86399999999999n],
    type: 'TEXT',
    cells: ['00:00:00', '00:00:00.000000001', '23:59:59.999999999'],
  },
  at_milli: {
    element: moment('MILLIS', false),
    data: [0n, -1n, 253402300799999n],
    type: 'TIMESTAMP',
    cells: ['1970-01-01 00:00:00.000000', '1969-12-31 23:59:59.999000', '9999-12-31 23:59:59.999000'],
  },
  at_micro: {
    element: moment('MICROS', true),
    data: [1n, -62135596800000000n, 253402300799999999n],
    type: 'TIMESTAMPTZ',
    cells: ['1970-01-01 00:00:00.000001', '0001-01-01 00:00:00.000000', '9999-12-31 23:59:59.999999'],
  },
  at_nano: {
    element: moment('NANOS', false),
    data: [1000n, -1000n, 9223372036854775000n],
    type: 'TIMESTAMP',
    cells: ['1970-01-01 00:00:00.000001', '1969-12-31 23:59:59.999999', '2262-04-11 23:47:16.854775'],
  },
  at_utc_of_old: {
    element: { ...int64, converted_type: 'TIMESTAMP_MICROS' },
    data: [0n, 1n, 946684800000000n],
    type: 'TIMESTAMPTZ',
    cells: ['1970-01-01 00:00:00.000000', '1970-01-01 00:00:00.000001', '2000-01-01 00:00:00.000000'],
  },
}

/** The columns with a row of nulls behind their values. */
export function withNulls(columns: Record<string, TypedColumn>): Record<string, TypedColumn> {
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      { ...column, data: [...column.data, null], cells: [...column.cells, null] },
    ]),
  )
}

export const rowsOf = (columns: Record<string, TypedColumn>): Cell[][] => {
  const all = Object.values(columns)
  return all[0]!.cells.map((_, row) => all.map(({ cells }) => cells[row]!))
}
