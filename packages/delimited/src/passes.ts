import { encodeRecord, longestEncoding } from './encode.ts'
import { type ColumnType, TypeInference } from './infer.ts'
import type { Limits } from './limits.ts'
import { DelimitedProblem } from './problem.ts'
import { type RejectedRow, rejectedRow } from './reject.ts'
import type { DelimitedOptions } from './dialect/options.ts'
import { openRows } from './rows.ts'
import type { TextFile } from './text-file.ts'

/** A column as the file has it; what it is called elsewhere is not up to the file. */
export interface InspectedColumn extends ColumnType {
  label: string
}

/** What the first pass found out. */
export interface Inspection {
  /** By name, or the character itself. */
  delimiter: string
  columns: InspectedColumn[]
}

/** Whole lines of COPY text, and the rows rejected on the way to them. Either may be empty, not both. */
export interface Batch {
  copyText: Buffer<ArrayBuffer>
  rejected: RejectedRow[]
}

/** Told whenever more of the file was read: its bytes and rows in this pass. */
export type Tell = (bytes: number, rows: number) => void

const rejectedInBatch = 256

/** First pass: the columns and their types, over all rows that are not rejected. */
export function inspect(file: TextFile, dialect: DelimitedOptions, limits: Limits, tell: Tell): Inspection {
  const { records, reader, delimiter, shape } = openRows(file, dialect, limits)
  const { labels } = shape
  const inference = new TypeInference(labels.length)
  let rows = 0
  records.onRead = () => tell(reader.position, rows)
  for (; records.advance(); rows++) {
    if (records.fault === undefined) inference.observe(records.bytes, records.scanner)
  }
  const columns = labels.map((label, index) => ({ label, ...inference.type(index) }))
  return { delimiter, columns }
}

/**
 * Second pass: every row as COPY text or as a rejected row; answers how many there were of both. `send` takes a batch over, memory included,
 * and resolves when there is room for another. Throws DelimitedProblem FILE_CHANGED when the file is no longer the one inspected.
 */
export async function encode(
  file: TextFile,
  dialect: DelimitedOptions,
  limits: Limits,
  { delimiter, columns }: Inspection,
  send: (batch: Batch) => Promise<void>,
  tell: Tell,
): Promise<number> {
  file.assertUnchanged()
  const { records, reader, shape } = openRows(file, { ...dialect, delimiter }, limits)
  if (records.width !== columns.length) {
    throw new DelimitedProblem('FILE_CHANGED', `${file.name} changed while it was being read; run the load again.`)
  }
  const textColumns = Uint8Array.from(columns, ({ dataType }) => (dataType === 'TEXT' ? 1 : 0))
  let out = Buffer.allocUnsafeSlow(limits.chunkBytes)
  let at = 0
  let rejected: RejectedRow[] = []
  let rows = 0
  const flush = async (room: number) => {
    if (at > 0 || rejected.length > 0) await send({ copyText: out.subarray(0, at), rejected })
    out = Buffer.allocUnsafeSlow(Math.max(limits.chunkBytes, room))
    at = 0
    rejected = []
  }
  records.onRead = () => tell(reader.position, rows)
  for (; records.advance(); rows++) {
    if (records.fault === undefined) {
      const room = longestEncoding(records.next - records.from, records.width)
      if (room > out.length - at) await flush(room)
      at = encodeRecord(records.bytes, records.scanner, textColumns, out, at)
    } else if (rejected.push(rejectedRow(records, shape)) === rejectedInBatch) await flush(0)
  }
  file.assertUnchanged()
  await flush(0)
  return rows
}
