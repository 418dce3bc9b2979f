import { type RowStream, type Column, type RejectedRow, type ReadReporter, TypesWidened } from '@sluice/row-stream'
import { maxPreviewCharacters, readTuples } from '../cells/read-tuples.ts'
import type { PreviewCell, SourcePreview } from './source-preview.ts'

const maxRejected = 100
const maxNotes = 100

/** Returns the first rows of a source's first row stream, read as in a load. Throws the errors of the source. */
export async function previewRowStream(
  read: (report: ReadReporter, signal: AbortSignal) => AsyncIterable<RowStream>,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const notes: string[] = []
  let rejected: RejectedRow[] = []
  const report: ReadReporter = {
    progress: () => {},
    reject(row) {
      if (rejected.length < maxRejected) rejected.push(row)
    },
    rejectMore: () => {},
    async startOver() {
      rejected = []
    },
    log(_level, _importance, message) {
      if (notes.length < maxNotes) notes.push(message)
    },
  }
  for await (const rowStream of read(report, signal)) {
    // Returns in the first iteration: the other row streams are not read.
    const preview = await previewFirstRows(rowStream, maxRows)
    return { ...preview, rejected, notes }
  }
  return { columns: [], rows: [], rejected, notes, complete: true }
}

/** Returns the first `maxRows` rows of a stream. If the types are too narrow, reads the rows again with wider types. */
async function previewFirstRows(
  { columns, content }: RowStream,
  maxRows: number,
): Promise<Pick<SourcePreview, 'columns' | 'rows' | 'complete'>> {
  if (content.format !== 'copy-binary') throw new Error('only binary tuples are previewed')
  for (let currentColumns: Column[] = columns; ; ) {
    try {
      const firstRows = await readFirstRowsWithTypes(content.rows(currentColumns), currentColumns, maxRows)
      return { columns: currentColumns, ...firstRows }
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
      currentColumns = error.columns
    }
  }
}

/**
 * Returns the first `maxRows` rows, or fewer if they exceed the maximum characters of a preview. `complete` is true if
 * these are all rows.
 */
async function readFirstRowsWithTypes(
  chunks: AsyncIterable<{ bytes: Uint8Array; release?(): void }>,
  types: Column[],
  maxRows: number,
): Promise<{ rows: PreviewCell[][]; complete: boolean }> {
  const rows: PreviewCell[][] = []
  let charactersLeft = maxPreviewCharacters
  for await (const chunk of chunks) {
    // Reads one row more than needed, to find out whether there are more rows.
    const chunkRows = readTuples(chunk.bytes, types, maxRows + 1 - rows.length, charactersLeft)
    for (const row of chunkRows.rows) rows.push(row)
    charactersLeft -= chunkRows.characters
    chunk.release?.()
    if (rows.length > maxRows) return { rows: rows.slice(0, maxRows), complete: false }
    if (charactersLeft < 0) return { rows, complete: false }
  }
  return { rows, complete: true }
}
