import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Column, type RejectedRow, type StoredType, TypesWidened } from '@sluice/row-stream'
import { defaultLimits, type ParquetLimits } from '../limits.ts'
import { readParquet } from '../parquet-source.ts'
import { type Cell, decodeTuples } from './decode-copy-tuples.ts'

export interface Whole {
  columns: Column[]
  rows: Cell[][]
  rejected: RejectedRow[]
  logs: string[]
  progress: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }[]
  /** How often the reading began anew. */
  startedOver: number
}

/** A folder for one test file's inputs. */
export function inputFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'parquet-source-'))
  let files = 0
  return {
    write(content: Uint8Array | ArrayBuffer): string {
      const path = join(folder, `${++files}.parquet`)
      writeFileSync(path, content instanceof Uint8Array ? content : new Uint8Array(content))
      return path
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A whole file through its thread, as tests want to see it. `stored` is what columns are stored as, where that is wider. */
export async function readWhole(
  path: string,
  limits: Partial<ParquetLimits> = {},
  stored: Record<string, StoredType> = {},
  signal = new AbortController().signal,
): Promise<Whole> {
  const whole: Whole = { columns: [], rows: [], rejected: [], logs: [], progress: [], startedOver: 0 }
  const report = {
    progress: (totals: Whole['progress'][number]) => whole.progress.push(totals),
    reject: (row: RejectedRow) => whole.rejected.push(row),
    rejectMore: () => {},
    startOver: async () => void whole.startedOver++,
    log: (level: string, importance: string, message: string) => whole.logs.push(`${level} ${importance} ${message}`),
  }
  const source = readParquet({ path, fileName: 'input.parquet' }, report, signal, { ...defaultLimits, ...limits })
  for await (const { columns, content } of source) {
    if (content.format !== 'copy-binary') throw new Error('Tuples were expected.')
    whole.columns = columns
    const types = columns.map((column) => stored[column.name] ?? column)
    const chunks = await chunksOf(() => content.rows(types))
    whole.rows = decodeTuples(
      chunks,
      types.map(({ dataType }) => dataType),
    )
  }
  return whole
}

async function chunksOf(rows: () => AsyncIterable<{ bytes: Uint8Array; release?(): void }>): Promise<Uint8Array[]> {
  for (;;) {
    const chunks: Uint8Array[] = []
    try {
      for await (const { bytes, release } of rows()) {
        chunks.push(bytes.slice())
        release?.()
      }
      return chunks
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
    }
  }
}
