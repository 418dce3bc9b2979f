import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Limits } from '../src/limits.ts'
import { encode, type InspectedColumn, inspect } from '../src/passes.ts'
import { DelimitedProblem } from '../src/problem.ts'
import type { RejectedRow } from '../src/reject.ts'
import type { DelimitedOptions as Dialect } from '../src/dialect/options.ts'
import { TextFile } from '../src/text-file.ts'

export type Cell = string | null

/** A whole file at once, as tests want to see it; or the code of the problem. */
export interface Whole {
  columns: InspectedColumn[]
  rows: Cell[][]
  rejected: RejectedRow[]
}

/** A folder for one test file's inputs. */
export function inputFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'delimited-'))
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

/** The two passes without the thread, for tests that read thousands of files. */
export async function readInPlace(
  path: string,
  dialect: Dialect,
  limits: Limits,
): Promise<Whole | { problem: string }> {
  try {
    using file = new TextFile(path, 'input.csv')
    const inspection = inspect(file, dialect, limits, () => {})
    const chunks: Buffer[] = []
    const rejected: RejectedRow[] = []
    const rows = await encode(
      file,
      dialect,
      limits,
      inspection,
      async (batch) => {
        chunks.push(batch.copyText)
        rejected.push(...batch.rejected)
      },
      () => {},
    )
    const whole = { columns: inspection.columns, rows: decodeCopyText(chunks), rejected }
    if (rows !== whole.rows.length + rejected.length) throw new Error(`${rows} rows counted, not as many given`)
    return whole
  } catch (error) {
    if (error instanceof DelimitedProblem) return { problem: error.code }
    throw error
  }
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
