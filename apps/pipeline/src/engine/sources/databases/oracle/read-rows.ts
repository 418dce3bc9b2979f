import oracledb from 'oracledb'
import type { RowEncoder } from '@sluice/tuples'
import type { TupleSink } from '../tuple-sink.ts'
import { writeRow } from '../write-row.ts'
import { convertValue, type OracleField } from './columns.ts'

/** Values that may be megabytes each. The driver holds all of one answer at once, as objects. */
const large: ReadonlySet<unknown> = new Set([
  oracledb.DB_TYPE_CLOB,
  oracledb.DB_TYPE_NCLOB,
  oracledb.DB_TYPE_BLOB,
  oracledb.DB_TYPE_LONG,
  oracledb.DB_TYPE_LONG_NVARCHAR,
  oracledb.DB_TYPE_LONG_RAW,
  oracledb.DB_TYPE_JSON,
  oracledb.DB_TYPE_VECTOR,
  oracledb.DB_TYPE_XMLTYPE,
])

/** Rows that come in one answer, and are objects at the same time. */
export function rowsAtOnce(fields: readonly Pick<OracleField, 'dbType'>[]): number {
  return fields.some(({ dbType }) => large.has(dbType)) ? 16 : 1000
}

/** A query's rows on their way, as the driver has them. */
export interface Rows {
  getRows(atOnce: number): Promise<unknown[][]>
  close(): Promise<void>
}

/** Writes all rows, and closes what they come from. `count` is told how many came with each answer. */
export async function readRows(
  rows: Rows,
  fields: readonly OracleField[],
  encoder: RowEncoder,
  sink: TupleSink,
  count: (rows: number) => void,
): Promise<void> {
  const atOnce = rowsAtOnce(fields)
  const converts = fields.map(convertValue)
  try {
    for (;;) {
      const some = await rows.getRows(atOnce)
      if (some.length === 0) return
      count(some.length)
      for (const row of some) {
        for (const [index, convert] of converts.entries()) if (convert) row[index] = convert(row[index])
        if (!writeRow(encoder, sink, row)) await sink.drained()
      }
    }
  } finally {
    // What broke the reading is worth telling; that a broken connection closes nothing is not.
    await rows.close().catch(() => {})
  }
}
