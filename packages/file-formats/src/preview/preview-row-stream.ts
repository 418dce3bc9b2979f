import { type RowStream, type Column, type RejectedRow, type ReadReporter, TypesWidened } from '@sluice/row-stream'
import { maxPreviewCharacters, readTuples } from '../cells/read-tuples.ts'
import type { PreviewCell, SourcePreview } from './source-preview.ts'

const maxRejected = 100
const maxNotes = 100

/**
 * Returns the first rows of a source's first row stream, read as in a load. Reads no further ahead than a load does.
 * Throws the errors of the source.
 */
export async function previewRowStream(
  read: (report: ReadReporter, signal: AbortSignal) => AsyncIterable<RowStream>,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  const notes: string[] = []
  let rejected: RejectedRow[] = []
  const report: ReadReporter = {
    progress: () => {},
    reject: (row) => void (rejected.length < maxRejected && rejected.push(row)),
    rejectMore: () => {},
    async startOver() {
      rejected = []
    },
    log: (_level, _importance, message) => void (notes.length < maxNotes && notes.push(message)),
  }
  for await (const rowStream of read(report, signal)) {
    const preview = await firstRows(rowStream, maxRows)
    return { ...preview, rejected, notes }
  }
  return { columns: [], rows: [], rejected, notes, complete: true }
}

/** Returns the first `maxRows` rows of a stream. Reads them again each time their types turn out too narrow. */
async function firstRows(
  { columns, content }: RowStream,
  maxRows: number,
): Promise<Pick<SourcePreview, 'columns' | 'rows' | 'complete'>> {
  if (content.format !== 'copy-binary') throw new Error('only binary tuples are previewed')
  for (let currentColumns: Column[] = columns; ; ) {
    try {
      return {
        columns: currentColumns,
        ...(await takeFirstRows(content.rows(currentColumns), currentColumns, maxRows)),
      }
    } catch (error) {
      if (!(error instanceof TypesWidened)) throw error
      currentColumns = error.columns
    }
  }
}

/** Returns the first `maxRows` rows, or fewer if they have too many characters, and whether these are all rows. */
async function takeFirstRows(
  chunks: AsyncIterable<{ bytes: Uint8Array; release?(): void }>,
  types: Column[],
  maxRows: number,
): Promise<{ rows: PreviewCell[][]; complete: boolean }> {
  const rows: PreviewCell[][] = []
  let charactersLeft = maxPreviewCharacters
  for await (const chunk of chunks) {
    const tupleRows = readTuples(chunk.bytes, types, maxRows + 1 - rows.length, charactersLeft)
    for (const row of tupleRows.rows) rows.push(row)
    charactersLeft -= tupleRows.characters
    chunk.release?.()
    if (rows.length > maxRows) return { rows: rows.slice(0, maxRows), complete: false }
    if (charactersLeft < 0) return { rows, complete: false }
  }
  return { rows, complete: true }
}
