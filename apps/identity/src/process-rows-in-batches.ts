import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'
import type { DB } from './database.ts'

/** Rows per batch: few enough that other transactions are not blocked for long. */
const rowsPerBatch = 500

/**
 * Calls `step` until it processes fewer than `size` rows or the signal aborts. Each call is a transaction of its own.
 * Returns the total number of processed rows.
 */
export async function repeatInBatches(
  step: (size: number) => Promise<number>,
  { signal, size = rowsPerBatch }: { signal?: AbortSignal | undefined; size?: number } = {},
): Promise<number> {
  let total = 0
  for (;;) {
    const processedRows = await step(size)
    total += processedRows
    if (processedRows < size || signal?.aborted) return total
  }
}

/**
 * Deletes the rows of a table that meet a condition, in batches. Skips locked rows, which the next run deletes. DELETE
 * has no LIMIT, so a subquery selects the batch by `ctid`, the physical address that rows of every table have.
 */
export const removeInBatches = (
  db: Kysely<DB>,
  table: keyof DB,
  condition: RawBuilder<SqlBool>,
  signal?: AbortSignal,
): Promise<number> =>
  repeatInBatches(
    async (size) => {
      const { numAffectedRows } = await sql`
        delete from ${sql.table(table)} where ctid = any(array(
          select ctid from ${sql.table(table)} where ${condition} limit ${size} for update skip locked))`.execute(db)
      return Number(numAffectedRows ?? 0)
    },
    { signal },
  )
