import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { Claim } from './claim.ts'
import { before } from './states.ts'

export type Outcome =
  | { state: 'OK' | 'WARNING'; message: string; rowsWritten: number; bytesWritten: number; rowsRejected: number }
  | { state: 'FAILED'; code: string; message: string }

/** Ends a run. False when it is no longer this attempt's to end; then nothing changes. */
export async function finishRun(
  db: Kysely<DB>,
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  outcome: Outcome,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({
      state: outcome.state,
      finished_at: sql`now()`,
      heartbeat_at: sql`now()`,
      message: outcome.message,
      error_code: outcome.state === 'FAILED' ? outcome.code : null,
      ...(outcome.state !== 'FAILED' && {
        rows_written: outcome.rowsWritten,
        bytes_written: outcome.bytesWritten,
        rows_rejected: outcome.rowsRejected,
      }),
    })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', 'in', before(outcome.state))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
