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
import type { ParquetFile } from './footer.ts'
import type { ParquetLimits } from './limits.ts'
import { FileProblem } from './file-problems.ts'
import { type RowBatch, RowGroups } from './row-groups.ts'
import { isFlat, type ParquetColumn } from './schema.ts'

export interface ParquetResult {
  /** The columns in which digits finer than a microsecond were truncated, with the number of such values. */
  cuts: { label: string; values: number }[]
}

/** Reads all rows and sends them in binary COPY format. */
export async function encodeRows(
  file: ParquetFile,
  columns: readonly ParquetColumn[],
  storedTypes: readonly StoredType[],
  limits: ParquetLimits,
  port: JobPort,
): Promise<ParquetResult> {
  const pool = port.startPass(limits)
  const maxTupleBytes = Math.max(limits.writtenFrom, file.size * limits.ratio)
  let tupleBytes = 0
  const close: ChunkSink['close'] = (memory, length) => {
    tupleBytes += length
    if (tupleBytes > maxTupleBytes)
      throw new FileProblem(
        'FILE_TOO_DENSE',
        `grows to more than ${limits.ratio} times its size. The file may be malicious: check where it comes from.`,
      )
    pool.close(memory, length)
  }
  const types = storedTypes.map(({ dataType }) => dataType)
  const groups = new RowGroups(file, columns, types, limits)
  const kinds = columns.map(({ node }) => (isFlat(node) ? node.leaf.type.kind : 'json'))
  const encoder = new TupleEncoder(
    kinds.map((kind, index) => ({ kind, dataType: types[index]! })),
    { open: (atLeast) => pool.open(atLeast), close },
  )
  let rowCount = 0
  for (const batch of groups.batches()) {
    rowCount += batch.rows
    addFaultsOfLongRows(batch)
    const rejectedRows: RejectedRow[] = []
    for (const [from, to] of listValidRanges(batch, (row) => rejectedRows.push(rejectedRow(batch, row, columns)))) {
      for (const _ of encoder.encode(batch.vectors, from, to)) await pool.waitForRoom()
    }
    if (rejectedRows.length > 0) await pool.reject(rejectedRows)
    port.progress({ bytesRead: groups.bytesRead, bytesTotal: file.size, rowsRead: rowCount })
  }
  encoder.flush()
  port.progress({ bytesRead: file.size, bytesTotal: file.size, rowsRead: rowCount }, true)
  const shortenedValueCounts = groups.cuts.map((values, index) => ({ label: columns[index]!.column.label, values }))
  return { cuts: shortenedValueCounts.filter(({ values }) => values > 0) }
}

/** Records a reason for each row that is too long or has a too long value. */
function addFaultsOfLongRows({ rows, vectors, faults }: RowBatch): void {
  const textVectors = [...vectors.entries()].flatMap(([column, vector]) =>
    'data' in vector ? [{ column, vector }] : [],
  )
  // No row is longer than all values of the batch together.
  if (textVectors.reduce((sum, { vector }) => sum + vector.data.length, 0) <= maxValueBytes) return
  for (let row = 0; row < rows; row++) {
    let rowBytes = 0
    for (const { column, vector } of textVectors) {
      const length = vector.nulls[row] ? 0 : vector.lengths[row]!
      rowBytes += length
      const reason = length > maxValueBytes ? valueTooLong : rowBytes > maxRowBytes ? rowTooLong : undefined
      if (reason === undefined || faults.has(row)) continue
      faults.set(row, { column, reason })
    }
  }
}

/** Yields the ranges of consecutive valid rows. */
function* listValidRanges(
  { rows, faults }: RowBatch,
  reject: (row: number) => void,
): Generator<[from: number, to: number]> {
  let from = 0
  if (faults.size > 0) {
    for (const row of [...faults.keys()].toSorted((a, b) => a - b)) {
      reject(row)
      if (row > from) yield [from, row]
      from = row + 1
    }
  }
  if (from < rows) yield [from, rows]
}

/** Creates the report of a rejected row. A Parquet file has no lines, so the row number is reported as the line. */
function rejectedRow(
  { before: rowsBefore, vectors, faults }: RowBatch,
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

/** Returns a value as text. For a number or time that did not fit, the value itself is lost; the reason contains it. */
function formatRejectedValue(vector: ColumnVector, row: number, isFaulty: boolean): string {
  if (vector.nulls[row]) return 'null'
  if ('data' in vector && vector.lengths[row]! > maxRawBytes) return `${textStart(vector, row)}…`
  if (vector.kind === 'text') return JSON.stringify(vectorText(vector, row))
  return isFaulty && vector.kind !== 'json' ? '?' : vectorText(vector, row)
}

function textStart({ data, starts }: BytesVector, row: number): string {
  const start = starts[row]!
  return Buffer.from(data.subarray(start, start + maxRawBytes)).toString('utf8')
}
