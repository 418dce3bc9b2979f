import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue, QueuedRun } from './job-queue.ts'

/** Takes runs in hand instead of queueing them one by one; one statement then queues all. For one transaction. */
export interface CollectingQueue extends JobQueue {
  /** How many it has in hand, and back to so many: those behind were rolled back. */
  length(): number
  forgetBehind(length: number): void
  /** Without it, nothing that was taken in hand is queued. */
  sendAll(trx: Transaction<DB>): Promise<void>
}

export function collectingQueue(queue: JobQueue): CollectingQueue {
  const runs: QueuedRun[] = []
  return {
    ...queue,
    send: async (_trx, { uid, client }) => void runs.push({ uid, client }),
    length: () => runs.length,
    forgetBehind: (length) => void runs.splice(length),
    async sendAll(trx) {
      if (runs.length > 0) await queue.sendMissing(trx, runs)
    },
  }
}
