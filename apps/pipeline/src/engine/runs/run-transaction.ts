import { sql, type Kysely, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/*
 * Who locks what, in which order. `c` is the run of a thing, `P` the run of a workflow that waits for it.
 *
 *   claim            the client's advisory lock, c (or its job, where it has to wait)
 *   give back        c, its job
 *   pulse            c
 *   end              c, alerts, every P by its key; of each P its jobs, then the runs that come next (new, or there already)
 *   delays are over  P, its jobs, the runs that come next
 *   cancel           the thing, the c of a workflow by their keys, P, every other P that waits for one of them, and on as in «end»
 *   save, run        the thing, its runnable, c
 *   upload           the thing, its file (queueing a run locks the runnable, then the file with FOR KEY SHARE)
 *   delete           the thing, its runnable, its runs, the jobs that name them
 *   schedules        twenty runnables (what others hold is passed over), their c, the jobs
 *
 * From c to P to the next c is the way a workflow goes, and no order of keys: two workflows that run the same things the other
 * way round wait for each other in a circle, and so do two schedulers that hold a pipeline and a workflow with it. A lock over
 * all of a client's runs would rule that out, and have everything of a client wait for one end. So it may happen: PostgreSQL lets
 * one of them go after a second, and whoever writes runs begins again from nothing, here; requests do so in `auditedWrites`.
 */

const mostTries = 5

/**
 * Shorter than others wait for a lock (`lock_timeout`, ten seconds): a process that is stopped in the middle keeps nobody from
 * cancelling, or from claiming another run of the client. No transaction of ours waits for anything but the database.
 */
const longestPause = '8s'

/** SQLSTATEs of a transaction that was let go for the sake of others. Nothing of it remains; it may begin again. */
export const wasLetGo = (error: unknown): boolean =>
  ['40P01', '40001'].includes((error as { code?: string } | undefined)?.code ?? '')

/**
 * One transaction of a worker or scheduler on runs and what follows from them. It begins again where the database lets it go, so
 * `work` may be called several times, and does nothing that a rollback does not undo.
 */
export async function runTransaction<T>(db: Kysely<DB>, work: (trx: Transaction<DB>) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await db.transaction().execute(async (trx) => {
        await sql`select set_config('idle_in_transaction_session_timeout', ${longestPause}, true)`.execute(trx)
        return await work(trx)
      })
    } catch (error) {
      if (!wasLetGo(error) || tries === mostTries) throw error
    }
  }
}
