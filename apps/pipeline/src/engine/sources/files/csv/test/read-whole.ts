import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultLimits, type Limits } from '@sluice/delimited'
import type { Feed, FeedColumn, RejectedRow } from '../../../source.ts'
import { type CsvConfig, readCsv } from '../csv-source.ts'

export type Cell = string | null

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
  limits: Partial<Limits> = {},
  signal = new AbortController().signal,
) {
  const rejected: RejectedRow[] = []
  const logs: string[] = []
  const progress: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }[] = []
  const report = {
    progress: (totals: (typeof progress)[number]) => progress.push(totals),
    reject: (row: RejectedRow) => rejected.push(row),
    startOver: async () => {},
    log: (level: string, importance: string, message: string) => logs.push(`${level} ${importance} ${message}`),
  }
  const feeds: { table: string; columns: FeedColumn[]; rows: Cell[][] }[] = []
  const source = readCsv({ fileName: 'input.csv', ...config }, report, signal, { ...defaultLimits, ...limits })
  for await (const { table, columns, content } of source) {
    feeds.push({ table, columns, rows: decodeCopyText(await Array.fromAsync(chunksOf(content))) })
  }
  if (feeds.length !== 1) throw new Error(`${feeds.length} feeds instead of one`)
  return { ...feeds[0]!, rejected, logs, progress }
}

const escapes: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' }

/** PostgreSQL's COPY text format, read by its description; every chunk has to end with a line. */
export function decodeCopyText(chunks: Uint8Array[]): Cell[][] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  return chunks.flatMap((chunk) => {
    if (chunk.length === 0) return []
    const text = decoder.decode(chunk)
    if (!text.endsWith('\n')) throw new Error('A chunk ends inside a line')
    return text
      .slice(0, -1)
      .split('\n')
      .map((line) => line.split('\t').map(decodeField))
  })
}

function decodeField(field: string): Cell {
  if (field === '\\N') return null
  return field.replace(/\\(.?)/gs, (_, letter: string) => {
    const character = escapes[letter]
    if (character === undefined) throw new Error(`\\${letter} is not an escape`)
    return character
  })
}

export function chunksOf(content: Feed['content']): AsyncIterable<Uint8Array> {
  if (content.format !== 'copy-text') throw new Error('Only COPY text is read here.')
  return content.chunks
}
