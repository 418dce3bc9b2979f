import type { PreviousDialect } from '../delimited/dialect/delimited-options.ts'
import { type PreviousSourceColumns, temporalTypes } from '@sluice/row-stream'
import type { FileReading } from './csv-thread-job.ts'

const numericTypes = ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE']

/**
 * Returns the dialect, the labels, the source formats and the number and date columns of the previous load, so that the
 * next file is read in the same way. Leaves out columns that are no longer in the source. `keepsRows` is true if the
 * rows of the previous load stay in the table. Returns undefined before the first load.
 */
export function findPreviousDialect(
  previous: PreviousSourceColumns | undefined,
  { keepsRows = false } = {},
): PreviousDialect | undefined {
  if (!previous) return undefined
  const columns = previous.columns.filter(({ vanished }) => !vanished)
  const datedColumns = columns.filter(
    ({ dataType, dayFirst }) => dayFirst !== undefined && temporalTypes.includes(dataType),
  )
  return {
    ...((previous.reading ?? {}) as FileReading),
    labels: columns.map(({ label }) => label),
    dayFirst: Object.fromEntries(datedColumns.map(({ label, dayFirst }) => [label, dayFirst!])),
    numbers: columns.filter(({ dataType }) => numericTypes.includes(dataType)).map(({ label }) => label),
    sourceFormats: Object.fromEntries(
      columns.flatMap(({ label, sourceFormat }) => (sourceFormat === undefined ? [] : [[label, sourceFormat]])),
    ),
    keepsRows,
  }
}
