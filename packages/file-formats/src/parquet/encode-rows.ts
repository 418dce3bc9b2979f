import {
  type BytesVector,
  type ChunkSink,
  type ColumnVector,
  maxRowBytes,
  maxRawBytes,
  maxValueBytes,
  rawText,
  rowTooLong,
  TupleEncoder,
  valueTooLong,
  vectorText,
  type RejectedRow,
  type StoredType,
} from '@sluice/row-stream'
import type { JobPort } from '../reader-thread-protocol.ts'
import type { ParquetFile } from './parquet-file.ts'
import type { ParquetLimits } from './limits.ts'
import { FileProblem } from './file-problems.ts'
import { type RowBatch, RowGroups } from './row-groups.ts'
import { isFlat, type ParquetColumn } from './schema.ts'

export interface ParquetResult {
  /** The columns with times that lost digits finer than a microsecond, and the number of such times. */
  truncatedColumns: { label: string; valueCount: number }[]
}

/** Reads all rows and sends them to the main thread in binary COPY format. */
export async function encodeRows(
  file: ParquetFile,
  columns: readonly ParquetColumn[],
  storedTypes: readonly StoredType[],
  limits: ParquetLimits,
  port: JobPort,
): Promise<ParquetResult> {
  const pool = port.startPass(limits)
  const maxTupleBytes = Math.max(limits.ratioExemptEncodedBytes, file.size * limits.maxRatio)
  let tupleBytes = 0
  const closeChunk: ChunkSink['close'] = (memory, length) => {
    tupleBytes += length
    if (tupleBytes > maxTupleBytes)
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `grows to more than ${limits.maxRatio} times its size. The file may be malicious: check where it comes from.`,
      )
    pool.close(memory, length)
  }
  const types = storedTypes.map(({ dataType }) => dataType)
  const groups = new RowGroups(file, columns, types, limits)
  const kinds = columns.map(({ node }) => (isFlat(node) ? node.leaf.type.kind : 'json'))
  const encoder = new TupleEncoder(
    kinds.map((kind, index) => ({ kind, dataType: types[index]! })),
    { open: (atLeast) => pool.open(atLeast), close: closeChunk },
  )
  let rowCount = 0
  for (const batch of groups.batches()) {
    rowCount += batch.rows
    addFaultsForLongRows(batch)
    const rejectedRows: RejectedRow[] = []
    const reject = (row: number) => rejectedRows.push(describeRejectedRow(batch, row, columns))
    for (const [from, to] of listValidRanges(batch, reject)) {
      // The encoder pauses after each full chunk.
      for (const _ of encoder.encode(batch.vectors, from, to)) await pool.waitForRoom()
    }
    if (rejectedRows.length > 0) await pool.reject(rejectedRows)
    port.progress({ bytesRead: groups.bytesRead, bytesTotal: file.size, rowsRead: rowCount })
  }
  encoder.flush()
  port.progress({ bytesRead: file.size, bytesTotal: file.size, rowsRead: rowCount }, true)
  const truncatedValues = groups.truncatedValues.map((valueCount, index) => ({
    label: columns[index]!.column.label,
    valueCount,
  }))
  return { truncatedColumns: truncatedValues.filter(({ valueCount }) => valueCount > 0) }
}

/** Adds a fault for each row that is too long or has a value that is too long. */
function addFaultsForLongRows({ rows, vectors, faults }: RowBatch): void {
  const textVectors = [...vectors.entries()].flatMap(([column, vector]) =>
    'data' in vector ? [{ column, vector }] : [],
  )
  const batchBytes = textVectors.reduce((sum, { vector }) => sum + vector.data.length, 0)
  if (batchBytes <= maxValueBytes) return
  for (let row = 0; row < rows; row++) {
    let rowBytes = 0
    for (const { column, vector } of textVectors) {
      const length = vector.nulls[row] ? 0 : vector.lengths[row]!
      rowBytes += length
      if (faults.has(row)) continue
      if (length > maxValueBytes) faults.set(row, { column, reason: valueTooLong })
      else if (rowBytes > maxRowBytes) faults.set(row, { column, reason: rowTooLong })
    }
  }
}

/** Yields the ranges of consecutive rows without faults. Calls `reject` for each row with a fault, in order. */
function* listValidRanges(
  { rows, faults }: RowBatch,
  reject: (row: number) => void,
): Generator<[from: number, to: number]> {
  let from = 0
  const rowsWithFaults = [...faults.keys()].toSorted((a, b) => a - b)
  for (const row of rowsWithFaults) {
    reject(row)
    if (row > from) yield [from, row]
    from = row + 1
  }
  if (from < rows) yield [from, rows]
}

/** Describes a row that has a fault. A Parquet file has no lines, so `line` is the number of the row. */
function describeRejectedRow(
  { rowsBefore, vectors, faults }: RowBatch,
  row: number,
  columns: readonly ParquetColumn[],
): RejectedRow {
  const { column, reason } = faults.get(row)!
  const rawValues = vectors
    .map((vector, index) => `${columns[index]!.column.label}: ${formatRejectedValue(vector, row, index === column)}`)
    .join(', ')
  return {
    line: rowsBefore + row + 1,
    column: columns[column]!.column.label,
    reason,
    raw: rawText(Buffer.from(rawValues.slice(0, maxRawBytes))),
  }
}

/** Returns a value of a rejected row as text. `isFaulty` means that this value is the reason of the rejection. */
function formatRejectedValue(vector: ColumnVector, row: number, isFaulty: boolean): string {
  if (vector.nulls[row]) return 'null'
  if ('data' in vector && vector.lengths[row]! > maxRawBytes) return `${formatTextStart(vector, row)}…`
  if (vector.kind === 'text') return JSON.stringify(vectorText(vector, row))
  // The vector cannot represent a number or time that is out of range. The reason of the rejection contains it.
  const isValueLost = isFaulty && vector.kind !== 'json'
  return isValueLost ? '?' : vectorText(vector, row)
}

function formatTextStart({ data, starts }: BytesVector, row: number): string {
  const start = starts[row]!
  return Buffer.from(data.subarray(start, start + maxRawBytes)).toString('utf8')
}
