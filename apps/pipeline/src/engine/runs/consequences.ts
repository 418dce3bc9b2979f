import type { Selectable, Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { alertAbout } from '../alerts/write-alerts.ts'
import { buildPendingViews, tablesOfRun } from '../views/pending-views.ts'
import { advanceAfter } from '../workflows/advance-after.ts'

/** A run that has just ended, in whatever way. */
export type EndedRun = Selectable<Runs>

/** What follows from the end of a run, written in the transaction of that end, so that it happens once or not at all. */
export async function consequences(trx: Transaction<DB>, queue: JobQueue, run: EndedRun): Promise<void> {
  await alertAbout(trx, run)
  if (run.state === 'OK' || run.state === 'WARNING')
    await buildPendingViews(trx, queue, run.client, await tablesOfRun(trx, run.id))
  for (const workflow of await advanceAfter(trx, queue, run)) await consequences(trx, queue, workflow)
}
