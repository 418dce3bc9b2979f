import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import type { DelimitedDialect } from '../../src/delimited/dialect/dialect.ts'
import type { DelimitedLimits } from '../../src/delimited/limits.ts'
import { startScanner } from '../../src/delimited/wasm-scanner.ts'
import { type RejectedRow, SourceProblem } from '@sluice/row-stream'
import { DelimitedReader, type InferredColumn } from '../../src/delimited/delimited-reader.ts'
import { detectText } from '../../src/delimited/open-delimited-rows.ts'
import { TextFile, type TextSource } from '../../src/delimited/text-file.ts'
import { tuplesOf } from './decode-copy-tuples.ts'
import type { Cell } from './reference-reader.ts'

export type { Cell }

/** A whole file at once, as tests want to see it; or the code of the problem. */
export interface Whole {
  columns: InferredColumn[]
  /** Each value as it stands in the file, or null where it is stored as null. */
  rows: Cell[][]
  rejected: RejectedRow[]
  /** How often the types were widened. */
  widened: number
}

const wasm = startScanner()

/** A folder for one test file's inputs, gone after its tests. */
export function inputFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'delimited-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let files = 0
  return {
    write(content: string | Uint8Array): string {
      const path = join(folder, `${++files}.csv`)
      writeFileSync(path, content)
      return path
    },
  }
}

/** Reads a file as a load does, without a thread. */
export function readInPlace(
  path: string,
  options: DelimitedOptions,
  limits: DelimitedLimits,
): Whole | { problem: string } {
  try {
    using file = new TextFile(path, 'input.csv')
    return readText(file, detectText(file, options).dialect, limits)
  } catch (error) {
    if (error instanceof SourceProblem) return { problem: error.code }
    throw error
  }
}

/** Reads a text twice: its rows as they are inferred say what is null, and as TEXT they say what is written. */
export function readText(file: TextSource, dialect: DelimitedDialect, limits: DelimitedLimits): Whole {
  const reading = new DelimitedReader(file, dialect, limits, wasm)
  let widened = 0
  let typed = passOver(reading, reading.columns)
  for (; !typed; typed = passOver(reading, reading.columns)) if (++widened > 1) throw new Error('Widened twice')
  const texts = passOver(
    reading,
    reading.columns.map(() => ({ dataType: 'TEXT' })),
  )
  if (!texts || texts.rows.length !== typed.rows.length) throw new Error('Another pass came to other rows')
  const rows = texts.rows.map((row, index) =>
    row.map((value, column) => (typed.rows[index]![column] === null ? null : value!.toString('utf8'))),
  )
  return { columns: reading.columns, rows, rejected: typed.rejected, widened }
}

/** All rows in one pass, or undefined where the types had to be widened. */
function passOver(reading: DelimitedReader, stored: Parameters<DelimitedReader['encode']>[0]) {
  const rows: (Buffer | null)[][] = []
  const rejected: RejectedRow[] = []
  const pass = reading.encode(stored)
  for (;;) {
    const step = pass.next()
    if (!step.done) {
      rows.push(...tuplesOf(Buffer.from(step.value.tuples)))
      rejected.push(...step.value.rejected)
    } else if ('widened' in step.value) return undefined
    else if (step.value.rows === rows.length + rejected.length) return { rows, rejected }
    else throw new Error(`${step.value.rows} rows counted, not as many given`)
  }
}
