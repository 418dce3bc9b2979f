import { median } from '../../statistics.ts'
import { measureWorker } from '../../load/loaders/measured-loader.ts'
import { createDataFile } from '../../load/data-files.ts'
import { createSourceDatabase } from '../../load/measures/postgres-to-postgres.ts'
import { type TableContent, readContent } from '../../load/table-content.ts'
import type { Loader } from '../../load/loaders/loader.ts'
import type { BenchContext as LoadParts, Target } from '../../load/measures/measure.ts'
import { type Figures, runInterleaved } from '../../load/interleaved-rounds.ts'
import type { RawTransfer } from '../raw-transfer.ts'

export interface BenchContext extends Omit<LoadParts, 'sizes'> {
  /** Records of each system. Each has at least a kilobyte. */
  rows: number
  /** Size of the files, single objects and databases. */
  megabytes: number
  /** Number of objects in the folder of an object store. */
  objects: number
}

/** The time of Sluice and of the raw download for one source. */
export interface SourceResult {
  type: string
  label: string
  rows: number
  bytes: number
  raw: Figures
  sluice: Figures
  /** Median processor time of the worker for one load, in milliseconds. */
  workerMs: number
  targets: Target[]
}

interface Comparison {
  type: string
  label: string
  raw: RawTransfer
  sluice: Loader
  expected: TableContent
}

/** Runs the raw download and Sluice in interleaved rounds, and compares the loaded rows with the expected ones. */
export async function compare(
  context: BenchContext,
  { type, label, raw, sluice, expected }: Comparison,
): Promise<SourceResult> {
  const measured = measureWorker(context.installation, sluice)
  const [first, second] = await runInterleaved([raw, measured], context.rounds, context.peers, expected)
  const [rows, workerMs] = [Number(expected.rows), median(measured.workerMs)]
  return { type, label, rows, bytes: raw.bytes(), raw: first!, sluice: second!, workerMs, targets: [] }
}

/**
 * The wide rows as a CSV file and, loaded by psql, in a PostgreSQL database. Every load of them is compared with these
 * rows.
 */
export interface Reference {
  file: { path: string; size: number }
  /** Connection string of the database, which has the rows in its table `source`. */
  source: string
  expected: TableContent
}

export async function createReference(context: BenchContext): Promise<Reference> {
  const file = await createDataFile(context.folder, 'wide', context.megabytes)
  const source = await createSourceDatabase(context, file.path)
  return { file, source, expected: await readContent({ database: source, table: 'source' }) }
}
