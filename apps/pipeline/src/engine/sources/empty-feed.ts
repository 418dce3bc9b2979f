import type { RememberedFeed } from './reading.ts'
import type { SourceFeed, FeedColumn } from './source.ts'

/** The columns of the last load that have no values now. */
export const columnsBefore = (remembered: RememberedFeed | undefined): FeedColumn[] =>
  (remembered?.columns ?? [])
    .filter(({ vanished }) => !vanished)
    .map(({ name, label, dataType }) => ({ name, label, dataType, evidence: 'NOTHING' }))

/** A table that becomes empty. */
export const emptyFeed = (table: string, columns: FeedColumn[]): SourceFeed => ({
  table,
  columns,
  sparse: true,
  content: { format: 'copy-binary', rows: async function* () {}, size: 0 },
})
