import { read } from 'node:fs'
import { promisify } from 'node:util'
import { rawText, type RejectedRow } from '@sluice/row-stream'
import type { SpoolWriter } from './spool-writer.ts'

const readBytes = 64 * 1024
const LF = 10
const readAt = promisify(read)

/**
 * The rows that were rejected while a spool file (temporary file) was written. A separate file stores the first of
 * them; all are counted.
 */
export class RejectsFile {
  count = 0
  readonly #writer: SpoolWriter
  readonly #maxStored: number

  /** Creates the file. `maxStored` is the maximum number of stored rows. */
  constructor(writer: SpoolWriter, maxStored: number) {
    this.#writer = writer
    this.#maxStored = maxStored
  }

  /**
   * Counts a rejected row, and stores it if fewer than `maxStored` are stored. Converts `raw` with `rawText`, so that
   * databases can store it.
   */
  add(line: number, reason: string, raw: Uint8Array, column?: string): void {
    this.count++
    if (this.count > this.#maxStored) return
    const row: RejectedRow = { line, reason, raw: rawText(raw), ...(column !== undefined && { column }) }
    this.#writer.put(Buffer.from(`${JSON.stringify(row)}\n`))
  }

  startOver(): void {
    this.count = 0
    this.#writer.startOver()
  }

  flush(): void {
    this.#writer.flush()
  }
}

/**
 * Yields the rows of a rejects file in batches, from its start. Does not block the event loop, and does not close the
 * file.
 */
export async function* readRejects(descriptor: number): AsyncGenerator<RejectedRow[], void, void> {
  const chunk = Buffer.allocUnsafe(readBytes)
  /** The start of a row that ends in the next chunk. */
  let pendingBytes = Buffer.alloc(0)
  for (let position = 0; ; ) {
    const { bytesRead } = await readAt(descriptor, chunk, 0, chunk.length, position)
    if (bytesRead === 0) return
    position += bytesRead
    const bytes = Buffer.concat([pendingBytes, chunk.subarray(0, bytesRead)])
    const rows: RejectedRow[] = []
    let lineStart = 0
    for (let lineEnd = bytes.indexOf(LF); lineEnd >= 0; lineEnd = bytes.indexOf(LF, lineStart)) {
      rows.push(JSON.parse(bytes.toString('utf8', lineStart, lineEnd)) as RejectedRow)
      lineStart = lineEnd + 1
    }
    pendingBytes = Buffer.from(bytes.subarray(lineStart))
    if (rows.length > 0) yield rows
  }
}

/** The writers for the rows and for the rejected rows of a conversion. */
export interface RowOutput {
  writer: SpoolWriter
  rejects: RejectsFile
}
