import type { PreviousDialect } from '../delimited/dialect/delimited-options.ts'
import { type PreviousSourceColumns, temporalTypes } from '@sluice/row-stream'
import type { FileReading } from './csv-thread-job.ts'

const numericTypes = ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE']

/**
 * Returns what the previous load knows about the file, so that the next file is read in the same way: the dialect and
 * the columns with their labels, formats and types. Leaves out columns that are no longer in the source. `keepsRows` is
 * true if the rows of the previous load stay in the table. Returns undefined before the first load.
 */
export function findPreviousDialect(
  previous: PreviousSourceColumns | undefined,
  { keepsRows = false } = {},
): PreviousDialect | undefined {
  if (!previous) return undefined
  const columns = previous.columns.filter(({ vanished }) => !vanished)
  const dayFirst: Record<string, boolean> = {}
  const sourceFormats: Record<string, string> = {}
  for (const column of columns) {
    const { label, dataType, sourceFormat } = column
    if (column.dayFirst !== undefined && temporalTypes.includes(dataType)) dayFirst[label] = column.dayFirst
    if (sourceFormat !== undefined) sourceFormats[label] = sourceFormat
  }
  return {
    ...((previous.reading ?? {}) as FileReading),
    labels: columns.map(({ label }) => label),
    dayFirst,
    numbers: columns.filter(({ dataType }) => numericTypes.includes(dataType)).map(({ label }) => label),
    sourceFormats,
    keepsRows,
  }
}
