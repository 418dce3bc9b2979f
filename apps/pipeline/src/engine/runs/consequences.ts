import type { Selectable, Transaction } from 'kysely'
import type { DB, Runs } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'

/** A run that has just ended, in whatever way. */
export type EndedRun = Selectable<Runs>

/** What follows from the end of a run, written in the transaction of that end, so that it happens once or not at all. */
export async function consequences(_trx: Transaction<DB>, _queue: JobQueue, _run: EndedRun): Promise<void> {}
