import { sql, type Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { type RejectedRow, maxKeptRejects } from '@sluice/row-stream'
import { batchWriter } from './batch-writer.ts'
import type { Claim } from './claim-run.ts'
import { toStorableText } from './run-log.ts'

/** Collects the rejected rows of an attempt. Disposing of it writes the remaining rows. */
export interface RejectedRows extends AsyncDisposable {
  /** The number of all rejected rows, including those that are not stored. */
  readonly count: number
  add(row: RejectedRow): void
  /** Adds to the count rows that are not stored. */
  addMore(rows: number): void
  /** Deletes the rejected rows of this attempt, because it reads the source again. */
  startOver(): Promise<void>
  /** Writes the rows that are still in memory. */
  flush(): Promise<void>
}

/**
 * Opens the collection of an attempt's rejected rows, and deletes those of earlier attempts. Stores the first `maxRows`
 * rows; further rows are only counted.
 */
export async function openRejectedRows(
  db: Kysely<DB>,
  claim: Claim,
  { maxRows = maxKeptRejects } = {},
): Promise<RejectedRows> {
  if (claim.attempt > 1)
    await db.deleteFrom('rejected_rows').where('run_id', '=', claim.id).where('attempt', '<', claim.attempt).execute()
  const writer = batchWriter<object>({
    write: (batch) => insertRejectedRows(db, claim, batch),
    size: 200,
    flushMs: 500,
    maxItems: maxRows,
  })
  let count = 0

  return {
    get count() {
      return count
    },
    add({ line, column, reason, raw }) {
      count += 1
      if (count > maxRows) return
      writer.push({
        line,
        column: column === undefined ? null : toStorableText(column, 1_000),
        reason: toStorableText(reason, 1_000),
        raw: toStorableText(raw, 8_000),
      })
    },
    addMore(rows) {
      count += rows
    },
    async startOver() {
      count = 0
      await writer.flush()
      await db.deleteFrom('rejected_rows').where('run_id', '=', claim.id).where('attempt', '=', claim.attempt).execute()
    },
    flush: writer.flush,
    [Symbol.asyncDispose]: () => writer.flush(),
  }
}

/** Stores rejected rows, unless the attempt has lost its lease. */
async function insertRejectedRows(db: Kysely<DB>, { id, attempt }: Claim, rows: object[]): Promise<void> {
  await sql`
    insert into rejected_rows (run_id, attempt, line, "column", reason, raw)
    select r.id, r.attempt, x.line, x."column", x.reason, x.raw
    from json_to_recordset(${JSON.stringify(rows)}) as x (line bigint, "column" text, reason text, raw text), runs r
    where r.id = ${id} and r.attempt = ${attempt} and r.state = 'RUNNING'
  `.execute(db)
}
