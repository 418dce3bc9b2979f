import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/** All that travels through the queue: which run, and whose, so that no client takes all workers. */
export interface QueuedRun {
  uid: string
  client: string
}

/** A run that the queue has put into the hands of this worker. */
export interface Delivery {
  run: string
  /** Whose run it is. */
  client: string
  /** Aborts when the queue has taken the run away again: it thought this worker dead, or a day has gone by. */
  signal: AbortSignal
  /**
   * In the caller's transaction: ends this delivery and queues the run again, to be taken after so many seconds.
   * False when the delivery was taken away before; then nothing is queued.
   */
  again(trx: Transaction<DB>, afterSeconds: number): Promise<boolean>
}

/** How runs reach the workers. A run is queued at most once, whoever asks how often. */
export interface JobQueue extends AsyncDisposable {
  /** In the caller's transaction: the run's row and its job commit together or not at all. */
  send(trx: Transaction<DB>, run: QueuedRun): Promise<void>
  /** Queues those of the runs that are neither waiting nor in anybody's hands; answers how many there were. */
  sendMissing(db: Kysely<DB>, runs: readonly QueuedRun[]): Promise<number>
  /** Throws when the queue cannot be reached. */
  check(): Promise<void>
  /** Waits for the handlers that are at work, two seconds at most. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The queue as a worker sees it. */
export interface WorkerQueue extends JobQueue {
  /** Hands out runs until `stopTaking`. A handler that throws has its run delivered again. */
  work(handle: (delivery: Delivery) => Promise<void>): Promise<void>
  /** Takes no more runs; those in hand go on. */
  stopTaking(): Promise<void>
}
