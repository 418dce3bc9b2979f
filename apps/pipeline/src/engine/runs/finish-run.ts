import { sql, type Kysely, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Claim } from './claim.ts'
import { consequences, type EndedRun } from './consequences.ts'
import { runTransaction } from './run-transaction.ts'
import { before } from './states.ts'

/** A table as a run left it; `size` in bytes. */
export interface TableThere {
  schema: string
  name: string
  rows: number
  size: number
}

export type Outcome =
  | {
      state: 'OK' | 'WARNING'
      message: string
      rowsWritten: number
      bytesWritten: number
      rowsRejected: number
      /** Of what loads tables. */
      tables?: TableThere[]
    }
  | { state: 'FAILED'; code: string; message: string }

/** Ends a run. False when it is no longer this attempt's to end; then nothing changes. */
export async function finishRun(
  { db, queue }: { db: Kysely<DB>; queue: JobQueue },
  { id, attempt }: Pick<Claim, 'id' | 'attempt'>,
  outcome: Outcome,
): Promise<boolean> {
  return runTransaction(db, async (trx) => {
    const run = await endRun(trx, id, attempt, outcome)
    if (run) await consequences(trx, queue, run)
    return run !== undefined
  })
}

function endRun(trx: Transaction<DB>, id: number, attempt: number, outcome: Outcome): Promise<EndedRun | undefined> {
  return trx
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
        ...(outcome.tables && { tables: JSON.stringify(outcome.tables) }),
      }),
    })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('state', 'in', before(outcome.state))
    .returningAll()
    .executeTakeFirst()
}
