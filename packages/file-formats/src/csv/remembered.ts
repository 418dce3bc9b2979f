import type { RememberedDialect } from '../delimited/dialect/delimited-options.ts'
import type { RememberedFeed } from '@sluice/row-stream'
import type { FileReading } from './csv-job.ts'

const times = ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ']
const numbers = ['SMALLINT', 'INTEGER', 'BIGINT', 'DECIMAL', 'FLOAT', 'DOUBLE']

/** Returns what the last load decided about reading the table's next file. */
export function rememberedFile(feed: RememberedFeed | undefined): RememberedDialect | undefined {
  if (!feed) return undefined
  const columns = feed.columns.filter(({ vanished }) => !vanished)
  const dated = columns.filter(({ dataType, dayFirst }) => dayFirst !== undefined && times.includes(dataType))
  return {
    ...((feed.reading ?? {}) as FileReading),
    labels: columns.map(({ label }) => label),
    dayFirst: Object.fromEntries(dated.map(({ label, dayFirst }) => [label, dayFirst!])),
    numbers: columns.filter(({ dataType }) => numbers.includes(dataType)).map(({ label }) => label),
  }
}
