import type { FeedColumn, RememberedFeed, RowStream } from './row-stream.ts'

/** Returns the columns of the last load, without values. */
export const columnsBefore = (remembered: RememberedFeed | undefined): FeedColumn[] =>
  (remembered?.columns ?? [])
    .filter(({ vanished }) => !vanished)
    .map(({ name, label, dataType }) => ({ name, label, dataType, evidence: 'NOTHING' }))

export const emptyRowStream = (table: string, columns: FeedColumn[]): RowStream => ({
  table,
  columns,
  sparse: true,
  content: { format: 'copy-binary', rows: async function* () {}, size: 0 },
})
