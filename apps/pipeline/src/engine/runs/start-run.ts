import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { beginWorkflow } from '../workflows/begin.ts'
import type { Created } from './create-run.ts'
import { type Occasion, queueRun, type Runnable } from './queue-run.ts'

export type { Occasion, Runnable } from './queue-run.ts'

/** Begins a run of whatever it is, or answers the one that is under way, in the caller's transaction. */
export function startRun(trx: Transaction<DB>, queue: JobQueue, runnable: Runnable, asked: Occasion): Promise<Created> {
  return runnable.kind === 'WORKFLOW'
    ? beginWorkflow(trx, queue, runnable, asked)
    : queueRun(trx, queue, runnable, asked)
}
