import {
  type BytesVector,
  type ColumnVector,
  maxRowBytes,
  maxValueBytes,
  rowTooLong,
  TupleEncoder,
  valueTooLong,
  vectorText,
  type RejectedRow,
  type StoredType,
} from '@sluice/row-stream'
import type { ChunkPool } from './chunk-pool.ts'
import type { ParquetFile } from './footer.ts'
import type { ParquetLimits } from './limits.ts'
import { ColumnMeasure } from './measure.ts'
import type { ParquetMessage } from './protocol.ts'
import { type RowBatch, RowGroups } from './row-groups.ts'
import { isFlat, type ParquetColumn } from './schema.ts'

const progressInterval = 250
const rawBytes = 4096

/** Reads all rows and sends them as tuples, with rejected rows as separate messages. Returns the final report. */
export async function encodeRows(
  file: ParquetFile,
  columns: readonly ParquetColumn[],
  stored: readonly StoredType[],
  limits: ParquetLimits,
  pool: ChunkPool,
  post: (message: ParquetMessage) => void,
): Promise<ParquetMessage> {
  const types = stored.map(({ dataType }) => dataType)
  const groups = new RowGroups(file, columns, types, limits)
  const kinds = columns.map(({ node }) => (isFlat(node) ? node.leaf.type.kind : 'json'))
  const encoder = new TupleEncoder(
    kinds.map((kind, index) => ({ kind, dataType: types[index]! })),
    pool,
  )
  const measures = kinds.map((kind) => new ColumnMeasure(kind))
  let rows = 0
  let told = performance.now()
  const progress = (bytesRead: number) =>
    post({ kind: 'progress', totals: { bytesRead, bytesTotal: file.size, rowsRead: rows } })
  for (const batch of groups.batches()) {
    rows += batch.rows
    addFaultsOfLongRows(batch)
    const rejected: RejectedRow[] = []
    for (const [from, to] of between(batch, (row) => rejected.push(rejectedRow(batch, row, columns)))) {
      for (const [column, vector] of batch.vectors.entries()) measures[column]!.observe(vector, from, to)
      for (const _ of encoder.encode(batch.vectors, from, to)) await pool.room()
    }
    if (rejected.length > 0) post({ kind: 'rejected', rows: rejected })
    const now = performance.now()
    if (now - told < progressInterval) continue
    told = now
    progress(groups.bytesRead)
  }
  encoder.flush()
  progress(file.size)
  const cuts = groups.cuts.map((values, index) => ({ label: columns[index]!.column.label, values }))
  return {
    kind: 'done',
    cuts: cuts.filter(({ values }) => values > 0),
    measured: measures.map((measure) => measure.result()),
  }
}

/** Adds a fault for each row that is too long or has a value that is too long. */
function addFaultsOfLongRows({ rows, vectors, faults }: RowBatch): void {
  const texts = [...vectors.entries()].flatMap(([column, vector]) => ('data' in vector ? [{ column, vector }] : []))
  // No row is longer than all values of the batch together.
  if (texts.reduce((sum, { vector }) => sum + vector.data.length, 0) <= maxValueBytes) return
  for (let row = 0; row < rows; row++) {
    let total = 0
    for (const { column, vector } of texts) {
      const length = vector.nulls[row] ? 0 : vector.lengths[row]!
      total += length
      const reason = length > maxValueBytes ? valueTooLong : total > maxRowBytes ? rowTooLong : undefined
      if (reason === undefined || faults.has(row)) continue
      faults.set(row, { column, reason })
    }
  }
}

/** Yields the ranges of rows without fault. */
function* between({ rows, faults }: RowBatch, reject: (row: number) => void): Generator<[from: number, to: number]> {
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

/** Creates a rejected row. A Parquet file has no lines, so the row's number replaces the line. */
function rejectedRow(
  { before, vectors, faults }: RowBatch,
  row: number,
  columns: readonly ParquetColumn[],
): RejectedRow {
  const { column, reason } = faults.get(row)!
  const raw = vectors
    .map((vector, index) => `${columns[index]!.column.label}: ${shown(vector, row, index === column)}`)
    .join(', ')
  return {
    line: before + row + 1,
    column: columns[column]!.column.label,
    reason,
    raw: Buffer.from(raw.slice(0, rawBytes))
      .subarray(0, rawBytes)
      .toString('utf8')
      .replace(/\uFFFD$/, ''),
  }
}

/** Returns the value as text. A number or time that does not fit was not kept; the reason contains it. */
function shown(vector: ColumnVector, row: number, faulty: boolean): string {
  if (vector.nulls[row]) return 'null'
  if ('data' in vector && vector.lengths[row]! > rawBytes) return `${textStart(vector, row)}…`
  if (vector.kind === 'text') return JSON.stringify(vectorText(vector, row))
  return faulty && vector.kind !== 'json' ? '?' : vectorText(vector, row)
}

function textStart({ data, starts }: BytesVector, row: number): string {
  const start = starts[row]!
  return Buffer.from(data.subarray(start, start + rawBytes)).toString('utf8')
}
