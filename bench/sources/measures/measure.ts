import type { Loader } from '../../load/loaders/loader.ts'
import type { BenchContext as LoadParts } from '../../load/measures/measure.ts'
import { type Figures, runInterleaved } from '../../load/interleaved-rounds.ts'
import { type TableContent } from '../../load/table-content.ts'
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
  what: string
  rows: number
  bytes: number
  raw: Figures
  sluice: Figures
}

interface Comparison {
  type: string
  what: string
  raw: RawTransfer
  sluice: Loader
  expected: TableContent
}

/** Runs the raw download and Sluice in interleaved rounds, and compares the loaded rows with the expected ones. */
export async function compare(
  context: BenchContext,
  { type, what, raw, sluice, expected }: Comparison,
): Promise<SourceResult> {
  const [first, second] = await runInterleaved([raw, sluice], context.rounds, context.peers, expected)
  return { type, what, rows: Number(expected.rows), bytes: raw.bytes(), raw: first!, sluice: second! }
}
