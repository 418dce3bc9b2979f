import type { Column, StoredType } from '@sluice/row-stream'
import type { JobPort } from '../reader-thread-protocol.ts'
import { encodeRows, type ParquetResult } from './encode-rows.ts'
import { FileProblem } from './file-problems.ts'
import { asHex, assertPlausible, ParquetFile } from './footer.ts'
import type { ParquetLimits } from './limits.ts'
import { HoldsBytes } from './row-groups.ts'
import { readSchema } from './schema.ts'

export interface ParquetThreadJob {
  /** A path, or the descriptor of a file that its opener closes. */
  path: string | number
  fileName: string
  limits: ParquetLimits
}

export interface InspectedFile {
  columns: Column[]
  size: number
  rows: number
  rowGroups: number
  codecs: string[]
  writer: string
}

/** The label of a column with bytes that are not text, which is read as hexadecimal from now on. */
export interface HexColumn {
  label: string
}

export async function readParquetFile(job: ParquetThreadJob, port: JobPort): Promise<ParquetResult> {
  try {
    return await readFile(job, port)
  } catch (error) {
    throw error instanceof FileProblem ? error.problem(job.fileName) : error
  }
}

async function readFile({ path, fileName, limits }: ParquetThreadJob, port: JobPort): Promise<ParquetResult> {
  using file = new ParquetFile(path, fileName, limits)
  const { metadata, size } = file
  let columns = readSchema(metadata)
  const chunks = metadata.row_groups.flatMap((group) => group.columns)
  let types: readonly StoredType[] = await port.open({
    columns: columns.map(({ column }) => column),
    size,
    rows: assertPlausible(file, limits),
    rowGroups: metadata.row_groups.length,
    codecs: [...new Set(chunks.map((chunk) => chunk.meta_data?.codec ?? '?'))],
    writer: metadata.created_by ?? 'an unknown writer',
  } satisfies InspectedFile)
  for (;;) {
    try {
      const result = await encodeRows(file, columns, types, limits, port)
      file.assertUnchanged()
      return result
    } catch (error) {
      if (!(error instanceof HoldsBytes)) throw error
      const { label } = columns[error.column]!.column
      columns = columns.map((column, index) => (index === error.column ? asHex(column) : column))
      types = await port.widen({ label } satisfies HexColumn)
    }
  }
}
