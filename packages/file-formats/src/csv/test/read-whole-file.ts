import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultDelimitedLimits, type DelimitedLimits } from '../../delimited/limits.ts'
import { tuplesOf } from '../../../test/delimited/decode-copy-tuples.ts'
import type { Column, RejectedRow, RowStream } from '@sluice/row-stream'
import { type CsvConfig, readCsv } from '../csv-source.ts'

/** A folder for one test file's inputs. */
export function inputFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'csv-source-'))
  let files = 0
  return {
    write(content: string | Uint8Array): string {
      const path = join(folder, `${++files}.csv`)
      writeFileSync(path, content)
      return path
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Everything the source says and gives, through its thread. */
export async function readThroughThread(
  config: Omit<CsvConfig, 'fileName'>,
  limits: Partial<DelimitedLimits> = {},
  signal = new AbortController().signal,
) {
  const rejected: RejectedRow[] = []
  const logs: string[] = []
  const progress: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }[] = []
  const report = {
    progress: (totals: (typeof progress)[number]) => progress.push(totals),
    reject: (row: RejectedRow) => rejected.push(row),
    rejectMore: () => {},
    startOver: async () => {},
    log: (level: string, importance: string, message: string) => logs.push(`${level} ${importance} ${message}`),
  }
  const rowStreams: { table: string; columns: Column[]; rows: (Buffer | null)[][] }[] = []
  const source = readCsv({ fileName: 'input.csv', ...config }, report, signal, { ...defaultDelimitedLimits, ...limits })
  for await (const rowStream of source) {
    const { table, columns } = rowStream
    rowStreams.push({ table, columns, rows: (await Array.fromAsync(chunksOf(rowStream))).flatMap(tuplesOf) })
  }
  if (rowStreams.length !== 1) throw new Error(`${rowStreams.length} rowStreams instead of one`)
  return { ...rowStreams[0]!, rejected, logs, progress }
}

/** Yields all chunks of a row stream, read with the inferred types. Releases each chunk at once. */
export async function* chunksOf({
  columns,
  content,
}: Pick<RowStream, 'columns' | 'content'>): AsyncGenerator<Buffer, void, void> {
  if (content.format !== 'copy-binary') throw new Error('Only binary tuples are read here.')
  for await (const { bytes, release } of content.rows(columns)) {
    const copy = Buffer.from(bytes)
    release?.()
    yield copy
  }
}
