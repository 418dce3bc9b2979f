import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { never } from '@sluice/warehouses/testing/row-fixtures'
import { scratchWarehouseForAll, word } from '@sluice/warehouses/testing/scratch-warehouse'
import { loadRowStreams } from '@sluice/warehouses/load-row-streams'
import type { RowStream, Column } from '@sluice/row-stream'
import { defaultLimits } from '../limits.ts'
import { readParquet } from '../parquet-source.ts'
import { allTypes, type TypedColumn, withNulls } from './all-types.ts'
import { written } from './write-parquet-files.ts'
import { inputFolder } from './read-whole-file.ts'

const folder = inputFolder()
const report = { progress: () => {}, reject: () => {}, rejectMore: () => {}, startOver: async () => {}, log: () => {} }

describe('a Parquet file loaded into PostgreSQL', () => {
  const scratch = scratchWarehouseForAll()
  let table: string

  beforeEach(() => {
    table = word('parquet_')
  })
  afterAll(() => folder[Symbol.dispose]())

  const load = (rowStreams: AsyncIterable<RowStream>, into = table) =>
    loadRowStreams({
      rowStreams,
      warehouse: scratch.warehouse,
      target: { schema: 'health', table: into },
      run: word('run'),
      attempt: 1,
      isCurrentAttempt: async () => true,
      signal: never,
      rejected: () => ({ count: 0 }),
    })
  const file = (columns: Record<string, TypedColumn>) =>
    readParquet({ path: folder.write(written(columns)), fileName: 'x.parquet' }, report, never, {
      ...defaultLimits,
      chunkBytes: 2048,
    })
  /** All rows as PostgreSQL prints them. */
  const printed = async (name: string, names: readonly string[]) => {
    const list = names.map((column) => `"${column}"::text`).join(', ')
    const { rows } = await scratch.superuser.query({ text: `select ${list} from health."${name}"`, rowMode: 'array' })
    return rows as (string | null)[][]
  }

  /** An earlier table with the same columns as these types, so that what comes now is stored as those. */
  async function* earlier(columns: Column[]): AsyncGenerator<RowStream> {
    yield { table: '', columns, content: { format: 'copy-binary', async *rows() {} } }
  }

  it('has the expected text in PostgreSQL for every type', async () => {
    const columns = withNulls(allTypes)
    await load(file(columns))
    const names = Object.keys(columns)
    const rows = await printed(table, names)
    const expected = (row: number) =>
      names.map((name) => {
        const { cells, type } = columns[name]!
        const cell = cells[row]!
        if (cell === null) return null
        if (type === 'JSONB') return JSON.stringify(JSON.parse(String(cell))).replace(/([,:])/g, '$1 ')
        if (!type.startsWith('TIMESTAMP')) return Object.is(cell, -0) ? '-0' : String(cell)
        return (
          String(cell)
            .replace(/\.?0+$/, '')
            .replace(/:$/, ':00') + (type === 'TIMESTAMPTZ' ? '+00' : '')
        )
      })
    expect(rows.length).toBe(4)
    for (const row of rows.keys()) expect(clock(rows[row]!)).toEqual(clock(expected(row)))
  })

  it('has in TEXT columns the text that PostgreSQL prints for the original types', async () => {
    const { json: _, ...columns } = withNulls({ ...allTypes, ...oddNumbers })
    const names = Object.keys(columns)
    await load(file(columns))
    const text = word('text_')
    await load(earlier(names.map((name) => ({ name, label: name, dataType: 'TEXT' }))), text)
    await load(file(columns), text)
    expect(await printed(text, names)).toEqual(await printed(table, names))
  })

  it.each([
    ['BIGINT', ['tiny', 'byte', 'small', 'word', 'plain', 'long_word']],
    ['DECIMAL', ['tiny', 'plain', 'big', 'huge', 'money', 'exact', 'wide', 'single', 'double', 'half']],
    ['DOUBLE', ['tiny', 'plain', 'word', 'single', 'half']],
    ['TIMESTAMPTZ', ['day', 'at_milli', 'at_nano', 'at_micro']],
  ] as const)('keeps its values if the stored column type is %s', async (dataType, names) => {
    const columns = withNulls(Object.fromEntries(names.map((name) => [name, { ...allTypes, ...oddNumbers }[name]!])))
    await load(file(columns))
    await load(earlier(names.map((name) => ({ name, label: name, dataType }))), `${table}_wide`)
    await load(file(columns), `${table}_wide`)
    const list = names.map((name) => `w."${name}" is not distinct from n."${name}"`).join(' and ')
    const numbered = (name: string) => `(select row_number() over () as line, * from health."${name}")`
    const { rows } = await scratch.superuser.query(
      `select count(*)::int as same from ${numbered(`${table}_wide`)} w join ${numbered(table)} n using (line) where ${list}`,
    )
    expect(rows).toEqual([{ same: 4 }])
  })
})

/** Where a float's text changes its form. */
const oddNumbers: Record<string, TypedColumn> = {
  edges: { element: { type: 'DOUBLE' }, data: [1e15, 123456789012345680, 0.0001], type: 'DOUBLE', cells: [] },
  small_edges: { element: { type: 'DOUBLE' }, data: [0.00001234, -5e-324, 999999999999999], type: 'DOUBLE', cells: [] },
  singles: {
    element: { type: 'FLOAT' },
    data: [1e6, 3.4028234663852886e38, 0.30000001192092896],
    type: 'FLOAT',
    cells: [],
  },
  old_days: {
    element: { type: 'INT32', converted_type: 'DATE' },
    data: [-719163, -2440588, 100_000_000],
    type: 'DATE',
    cells: [],
  },
  old_times: {
    element: { type: 'INT64', logical_type: { type: 'TIMESTAMP', unit: 'MICROS', isAdjustedToUTC: true } },
    data: [-210866803200000000n, 9223372036854775807n, -62135596800000001n],
    type: 'TIMESTAMPTZ',
    cells: [],
  },
}

/** Removes trailing zeros of seconds, which PostgreSQL omits. */
const clock = (row: (string | null)[]) => row.map((cell) => cell?.replace(/(:\d\d)\.0+(\+00)?$/, '$1$2') ?? null)
