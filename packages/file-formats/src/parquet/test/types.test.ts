import { afterAll, describe, expect, it } from '@jest/globals'
import { allTypes, rowsOf, type TypedColumn, withNulls } from './all-types.ts'
import { type WrittenColumn, written } from './write-parquet-files.ts'
import { inputFolder, readWhole } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const read = (columns: Record<string, WrittenColumn>, options?: Parameters<typeof written>[1]) =>
  readWhole(folder.write(written(columns, options)), { maxBatchRows: 7, chunkBytes: 4096 })

const described = ({ dataType, precision, scale }: { dataType: string; precision?: number; scale?: number }) =>
  precision === undefined ? dataType : `${dataType}(${precision},${scale})`

const repeat = (columns: Record<string, TypedColumn>, times: number) =>
  Object.fromEntries(
    Object.entries(columns).map(([name, { data, cells, ...rest }]) => [
      name,
      {
        ...rest,
        data: Array.from({ length: times }, () => data).flat(),
        cells: Array.from({ length: times }, () => cells).flat(),
      },
    ]),
  )

describe('Parquet types', () => {
  it('are mapped to exact types with the same values', async () => {
    const { columns, rows, rejected } = await read(withNulls(allTypes))
    expect(columns.map((column) => [column.name, described(column)])).toEqual(
      Object.entries(allTypes).map(([name, { type }]) => [name, type]),
    )
    expect(rows).toEqual(rowsOf(withNulls(allTypes)))
    expect(rejected).toEqual([])
  })

  it.each(['UNCOMPRESSED', 'GZIP', 'ZSTD', 'BROTLI'] as const)(
    'are read equally from %s files with dictionaries and many pages',
    async (codec) => {
      const columns = repeat(withNulls(allTypes), 50)
      const { rows } = await read(columns, { codec, pageSize: 300, rowGroupSize: 90 })
      expect(rows).toEqual(rowsOf(columns))
    },
  )

  it('are read equally from required columns', async () => {
    const required = Object.fromEntries(
      Object.entries(allTypes).map(([name, column]) => [
        name,
        { ...column, element: { ...column.element, repetition_type: 'REQUIRED' as const } },
      ]),
    )
    expect((await read(required)).rows).toEqual(rowsOf(required))
  })

  it.each([
    ['DELTA_BINARY_PACKED', ['plain', 'big', 'small', 'at_nano', 'huge', 'day']],
    ['DELTA_LENGTH_BYTE_ARRAY', ['text', 'long_text', 'old_text', 'blob']],
    ['DELTA_BYTE_ARRAY', ['text', 'long_text', 'blob', 'bson']],
    ['BYTE_STREAM_SPLIT', ['single', 'double', 'plain', 'big', 'half', 'uuid', 'wide']],
    ['PLAIN', ['flag', 'text', 'big', 'wide']],
    ['RLE', ['flag']],
  ] as const)('are read equally in encoding %s', async (encoding, names) => {
    const some = repeat(
      withNulls(Object.fromEntries(names.map((name) => [name, { ...allTypes[name]!, encoding }]))),
      40,
    )
    expect((await read(some, { pageSize: 500 })).rows).toEqual(rowsOf(some))
  })

  it('restart with hex values if bytes are not text', async () => {
    const { startedOver, logs } = await read({ blob: allTypes.blob! })
    expect([startedOver, logs.filter((log) => log.includes('hex')).length]).toEqual([1, 1])
  })

  it('have numbers that do not fit rejected with row, column and reason', async () => {
    const { rows, rejected } = await read({
      id: { element: { type: 'INT32' }, data: [1, 2, 3, 4] },
      tiny: { element: { type: 'INT32', converted_type: 'INT_8' }, data: [127, 128, -129, 0] },
      money: {
        element: { type: 'INT64', converted_type: 'DECIMAL', precision: 10, scale: 2 },
        data: [9999999999n, 1n, 1n, -10000000000n],
      },
    })
    expect(rows).toEqual([[1, 127, '99999999.99']])
    expect(rejected).toEqual([
      {
        line: 2,
        column: 'tiny',
        reason: 'is 128, but its column allows -128 to 127',
        raw: 'id: 2, tiny: ?, money: 0.01',
      },
      {
        line: 3,
        column: 'tiny',
        reason: 'is -129, but its column allows -128 to 127',
        raw: 'id: 3, tiny: ?, money: 0.01',
      },
      {
        line: 4,
        column: 'money',
        reason: 'has more than the 10 digits that its column allows',
        raw: 'id: 4, tiny: 0, money: ?',
      },
    ])
  })

  it('have invalid text rejected', async () => {
    const { rows, rejected } = await read({
      name: {
        element: { type: 'BYTE_ARRAY', logical_type: { type: 'STRING' } },
        data: [Buffer.from('ok'), Buffer.from([0xff]), Buffer.from('a\0b'), Buffer.from([0xed, 0xa0, 0x80])],
      },
    })
    expect(rows).toEqual([['ok']])
    expect(rejected.map(({ line, reason }) => [line, reason])).toEqual([
      [2, 'is not valid UTF-8'],
      [3, 'holds a NUL character, which text in the warehouse cannot'],
      [4, 'is not valid UTF-8'],
    ])
  })

  it('have times out of range rejected, and nanoseconds truncated with a warning', async () => {
    const { rows, rejected, logs } = await read({
      at: {
        element: { type: 'INT64', logical_type: { type: 'TIMESTAMP', unit: 'MILLIS', isAdjustedToUTC: false } },
        data: [0n, 2n ** 62n, -(2n ** 62n)],
      },
      fine: {
        element: { type: 'INT64', logical_type: { type: 'TIMESTAMP', unit: 'NANOS', isAdjustedToUTC: false } },
        data: [1999n, 0n, 0n],
      },
    })
    expect(rows).toEqual([['1970-01-01 00:00:00.000000', '1970-01-01 00:00:00.000001']])
    expect(rejected.map(({ line, reason }) => [line, reason])).toEqual([
      [2, 'is 4611686018427387904 milliseconds from 1970, which is outside the warehouse’s calendar'],
      [3, 'is -4611686018427387904 milliseconds from 1970, which is outside the warehouse’s calendar'],
    ])
    expect(logs.at(-1)).toBe('WARN MEDIUM 1 times in column "fine" of input.parquet were cut to microseconds.')
  })
})
