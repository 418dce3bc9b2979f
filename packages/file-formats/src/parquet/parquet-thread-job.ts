import type { Column, StoredType } from '@sluice/row-stream'
import type { JobPort } from '../reader-thread-protocol.ts'
import { encodeRows, type ParquetResult } from './encode-rows.ts'
import { FileProblem } from './file-problems.ts'
import { toHexColumn, readRowCount, ParquetFile } from './parquet-file.ts'
import type { ParquetLimits } from './limits.ts'
import { BinaryColumnError } from './row-groups.ts'
import { readSchema } from './schema.ts'

export interface ParquetThreadJob {
  /** A path, or the descriptor of an open file. The caller closes the descriptor. */
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

/**
 * Announces that the file is read again, with the column of this label in hexadecimal, because it has binary values.
 */
export interface HexColumn {
  label: string
}

/**
 * Reads a Parquet file and sends its columns and rows to the main thread. Throws SourceProblem if it cannot be read.
 */
export async function readParquetFile(job: ParquetThreadJob, port: JobPort): Promise<ParquetResult> {
  try {
    return await readColumnsAndRows(job, port)
  } catch (error) {
    throw error instanceof FileProblem ? error.toSourceProblem(job.fileName) : error
  }
}

/**
 * Sends the columns and then the rows. If a column that was read as text has binary values, sends all rows again with
 * this column in hexadecimal.
 */
async function readColumnsAndRows({ path, fileName, limits }: ParquetThreadJob, port: JobPort): Promise<ParquetResult> {
  using file = new ParquetFile(path, fileName, limits)
  const { metadata, size } = file
  let columns = readSchema(metadata)
  const chunks = metadata.row_groups.flatMap((group) => group.columns)
  let types: readonly StoredType[] = await port.open({
    columns: columns.map(({ column }) => column),
    size,
    rows: readRowCount(file, limits),
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
      if (!(error instanceof BinaryColumnError)) throw error
      const { columnIndex } = error
      const { label } = columns[columnIndex]!.column
      columns = columns.with(columnIndex, toHexColumn(columns[columnIndex]!))
      types = await port.widen({ label } satisfies HexColumn)
    }
  }
}
