import { afterAll, describe, expect, it } from '@jest/globals'
import type { SchemaElement } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { inputFolder, readWhole } from './read-whole-file.ts'

const folder = inputFolder()
afterAll(() => folder[Symbol.dispose]())

const int32 = { type: 'INT32' } as const
const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const optional = { repetition_type: 'OPTIONAL' } as const
const repeated = { repetition_type: 'REPEATED' } as const
const required = { repetition_type: 'REQUIRED' } as const

/** What comes of one column of these rows. */
async function read(schema: SchemaElement[], data: unknown[], limits = {}) {
  const buffer = parquetWriteBuffer({
    columnData: [{ name: schema[0]!.name, data }],
    schema: [{ name: 'root', num_children: 1 }, ...schema],
    pageSize: 64,
    rowGroupSize: 5,
  })
  const { columns, rows, rejected } = await readWhole(folder.write(new Uint8Array(buffer)), limits)
  const values = rows.map(([cell]) => (cell === null ? null : (JSON.parse(String(cell)) as unknown)))
  return { types: columns.map(({ dataType }) => dataType), values, rejected, cells: rows.map(([cell]) => cell) }
}

const list = (...element: SchemaElement[]): SchemaElement[] => [
  { name: 'v', ...optional, converted_type: 'LIST', num_children: 1 },
  { name: 'list', ...repeated, num_children: 1 },
  ...element,
]

describe('nested Parquet columns', () => {
  it('become JSON: lists, with empty ones and nulls at every level', async () => {
    const data = [[1, 2, 3], [], null, [null], [4, null], Array.from({ length: 40 }, (_, i) => i), [7]]
    const { types, values } = await read(list({ name: 'element', ...int32, ...optional }), data, { maxBatchRows: 3 })
    expect([types, values]).toEqual([['JSONB'], data])
  })

  it('become JSON: lists of lists', async () => {
    const data = [[[1], [2, 3]], [[], null, [null]], [], null, [[4]]]
    const inner: SchemaElement[] = [
      { name: 'element', ...optional, converted_type: 'LIST', num_children: 1 },
      { name: 'list', ...repeated, num_children: 1 },
      { name: 'element', ...int32, ...optional },
    ]
    expect((await read(list(...inner), data)).values).toEqual(data)
  })

  it('become JSON: groups in lists, and lists in groups', async () => {
    const data = [
      [{ a: 1, b: ['x', null], c: { d: 2.5 } }, null],
      [{ a: null, b: [], c: null }],
      [{ a: 3, b: null, c: { d: null } }],
    ]
    const group: SchemaElement[] = [
      { name: 'element', ...optional, num_children: 3 },
      { name: 'a', ...int32, ...optional },
      { name: 'b', ...optional, converted_type: 'LIST', num_children: 1 },
      { name: 'list', ...repeated, num_children: 1 },
      { name: 'element', ...utf8, ...optional },
      { name: 'c', ...optional, num_children: 1 },
      { name: 'd', type: 'DOUBLE', ...optional },
    ]
    expect((await read(list(...group), data, { maxBatchRows: 2 })).values).toEqual(data)
  })

  it('become JSON: maps as objects', async () => {
    const map = (key: Partial<SchemaElement>): SchemaElement[] => [
      { name: 'v', ...optional, converted_type: 'MAP', num_children: 1 },
      { name: 'key_value', ...repeated, num_children: 2 },
      { name: 'key', ...required, ...key } as SchemaElement,
      { name: 'value', ...int32, ...optional },
    ]
    const pairs = (...entries: [unknown, unknown][]) => entries.map(([key, value]) => ({ key, value }))
    const named = await read(map(utf8), [pairs(['a "quote"', 1], ['b', null]), [], null])
    expect(named.values).toEqual([{ 'a "quote"': 1, b: null }, {}, null])
    expect((await read(map(int32), [pairs([1, 2], [3, 4])])).values).toEqual([{ 1: 2, 3: 4 }])
  })

  it('keep every digit of numbers', async () => {
    const group: SchemaElement[] = [
      { name: 'v', ...optional, num_children: 4 },
      { name: 'big', type: 'INT64', ...optional },
      { name: 'exact', type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 9, ...optional },
      {
        name: 'at',
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', unit: 'MICROS', isAdjustedToUTC: true },
        ...optional,
      },
      { name: 'odd', type: 'DOUBLE', ...optional },
    ]
    const data = [{ big: 2n ** 63n - 1n, exact: 123456789123456789n, at: 1n, odd: NaN }]
    expect((await read(group, data)).cells).toEqual([
      '{"big":9223372036854775807,"exact":123456789.123456789,"at":"1970-01-01T00:00:00.000001+00:00","odd":"NaN"}',
    ])
  })

  it('have a row rejected for one invalid value in a list', async () => {
    const data = [['fine'], ['good', 'a\0b'], ['well']]
    const { values, rejected } = await read(list({ name: 'element', ...utf8, ...optional }), data)
    expect(values).toEqual([['fine'], ['well']])
    expect(rejected).toEqual([
      {
        line: 2,
        column: 'v',
        reason: 'v.list.element holds a NUL character, which text in the warehouse cannot',
        raw: 'v: ["good",null]',
      },
    ])
  })

  it('have a row rejected whose JSON is longer than 16 MB, without building that JSON', async () => {
    const element = { name: 'element', ...utf8, ...optional }
    const data = [['fine'], Array.from({ length: 20 }, () => 'x'.repeat(1024 ** 2)), ['well']]
    const { values, rejected } = await read(list(element), data)
    expect(values).toEqual([['fine'], ['well']])
    expect(rejected).toEqual([{ line: 2, column: 'v', reason: 'is longer than 16 MB', raw: 'v: null' }])
  })

  it('are rejected if a batch needs more memory than a file may use', async () => {
    const data = Array.from({ length: 5 }, () => ['x'.repeat(1024)])
    const reading = read(list({ name: 'element', ...utf8, ...optional }), data, { maxMemoryBytes: 4_000 })
    await expect(reading).rejects.toMatchObject({ code: 'FILE_TOO_DENSE' })
  })
})
