import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'

type Source = Parameters<typeof parquetWriteBuffer>[0]['columnData'][number]

/** One column to be written: how the schema describes it, and its values as they are stored. */
export interface WrittenColumn {
  element: Omit<SchemaElement, 'name'>
  // oxlint-disable-next-line typescript/no-explicit-any -- what the writer takes
  data: any[]
  encoding?: Source['encoding']
}

export const compressors = {
  GZIP: (input: Uint8Array) => new Uint8Array(gzipSync(input)),
  ZSTD: (input: Uint8Array) => new Uint8Array(zstdCompressSync(input)),
  BROTLI: (input: Uint8Array) => new Uint8Array(brotliCompressSync(input)),
}

type Options = Partial<Omit<Parameters<typeof parquetWriteBuffer>[0], 'columnData' | 'schema'>>

/** A Parquet file of these columns. Columns are nullable unless their element says otherwise. */
export function written(columns: Record<string, WrittenColumn>, options: Options = {}): Uint8Array {
  const entries = Object.entries(columns)
  const buffer = parquetWriteBuffer({
    columnData: entries.map(([name, { data, encoding }]) => ({ name, data, ...(encoding && { encoding }) })),
    schema: [
      { name: 'root', num_children: entries.length },
      ...entries.map(([name, { element }]) => ({ name, repetition_type: 'OPTIONAL' as const, ...element })),
    ],
    compressors,
    rowGroupSize: 1000,
    ...options,
  })
  return new Uint8Array(buffer)
}

export const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

/** Lists of groups with lists in them. */
export function writtenNested(): Uint8Array {
  const optional = { repetition_type: 'OPTIONAL' } as const
  const repeated = { repetition_type: 'REPEATED' } as const
  const row = [{ a: 1, b: ['x', null] }, null, { a: null, b: [] }]
  const buffer = parquetWriteBuffer({
    columnData: [{ name: 'v', data: Array.from({ length: 20 }, () => [row, [], null]).flat() }],
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'v', ...optional, converted_type: 'LIST', num_children: 1 },
      { name: 'list', ...repeated, num_children: 1 },
      { name: 'element', ...optional, num_children: 2 },
      { name: 'a', ...optional, type: 'INT32' },
      { name: 'b', ...optional, converted_type: 'LIST', num_children: 1 },
      { name: 'list', ...repeated, num_children: 1 },
      { name: 'element', ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    ],
    pageSize: 64,
    rowGroupSize: 15,
  })
  return new Uint8Array(buffer)
}
