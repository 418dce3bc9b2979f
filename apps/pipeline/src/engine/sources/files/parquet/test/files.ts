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
