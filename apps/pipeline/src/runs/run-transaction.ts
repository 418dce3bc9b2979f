import { setTimeout as sleep } from 'node:timers/promises'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { DB } from '../database.ts'

/*
 * The lock order of each transaction. `c` is the run of an object, `P` the run of a workflow that waits for it.
 *
 *   claim            the organisation's advisory lock, c (or its job, if the run must wait)
 *   requeue          c, its job
 *   heartbeat        c
 *   end              c, alerts, every P by its key; for each P its jobs, then the next runs (new or existing)
 *   delay has ended  P, its jobs, the next runs
 *   cancel           the object, the c of a workflow by their keys, P, every other P that waits for one of them, then
 *                    as in «end»
 *   save, run        the object, its runnable, c
 *   upload           the object, its file (queueing a run locks the runnable, then the file with FOR KEY SHARE)
 *   delete           the object, its runnable, its runs, the jobs that name them
 *   schedules        twenty runnables (skip locked), their c, the jobs
 *
 * The order from c to P to the next c follows the workflow, not the keys. Therefore two workflows that run the same
 * objects in opposite orders can deadlock, and so can two schedulers that lock a pipeline and a workflow that runs it.
 * A lock over all runs of an organisation would prevent these deadlocks, but then all its transactions would wait for
 * each end of a run. Instead, PostgreSQL aborts one of the transactions after a second, and `runTransaction` repeats
 * it; `auditedWrites` does the same for requests.
 */

const maxAttempts = 5

/**
 * Shorter than `lock_timeout` (ten seconds): if a process hangs within a transaction, PostgreSQL ends the transaction
 * before others that wait for its locks fail.
 */
const idleTimeout = '8s'

/**
 * Returns whether PostgreSQL aborted a transaction because of a deadlock or a serialization failure. Such a transaction
 * can be repeated.
 */
export const isSerializationFailure = (error: unknown): boolean =>
  ['40P01', '40001'].includes((error as { code?: string } | undefined)?.code ?? '')

/**
 * Runs a transaction of a worker or scheduler on runs. Repeats it after a deadlock or serialization failure, so
 * `callback` can be called several times and must do nothing that a rollback does not undo. `lock` names an advisory
 * lock that serializes transactions.
 */
export async function runTransaction<T>(
  db: Kysely<DB>,
  callback: (trx: Transaction<DB>) => Promise<T>,
  { lock }: { lock?: string } = {},
): Promise<T> {
  const lockExpression = lock === undefined ? sql`null` : sql`pg_advisory_xact_lock(hashtext(${lock}))`
  for (let attemptNumber = 1; ; attemptNumber += 1) {
    try {
      return await db.transaction().execute(async (trx) => {
        await sql`select set_config('idle_in_transaction_session_timeout', ${idleTimeout}, true), ${lockExpression}`.execute(
          trx,
        )
        return await callback(trx)
      })
    } catch (error) {
      if (!isSerializationFailure(error) || attemptNumber === maxAttempts) throw error
      // Wait for a random time, because two aborted transactions would conflict again if both were repeated at once.
      await sleep(Math.random() * 100 * attemptNumber)
    }
  }
}
