import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../database.ts'

/** The payload of a job in the queue. The queue limits the concurrent runs of each organisation (`client`). */
export interface QueuedRun {
  uid: string
  client: string
}

/** A run that the queue delivers to this worker. */
export interface Delivery {
  run: string
  client: string
  /** Aborts when the queue ends the delivery, because the heartbeats stopped or the job is a day old. */
  signal: AbortSignal
  /**
   * Ends this delivery and queues the run again after `afterSeconds`, both in the caller's transaction. If the delivery
   * has already ended, queues nothing and returns false.
   */
  requeue(trx: Transaction<DB>, afterSeconds: number): Promise<boolean>
}

/** A queue that delivers runs to the workers. Each run is in the queue at most once. */
export interface JobQueue extends AsyncDisposable {
  /** Queues a run in the caller's transaction, so that the run's row and its job commit together. */
  send(trx: Transaction<DB>, run: QueuedRun): Promise<void>
  /** Queues those of the given runs that have no job in the queue. Returns their number. */
  sendMissing(db: Kysely<DB>, runs: readonly QueuedRun[]): Promise<number>
  /** Throws if the queue is not available. */
  check(): Promise<void>
  /** Closes the queue. Waits at most two seconds for running handlers. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The queue with the methods of a worker. */
export interface WorkerQueue extends JobQueue {
  /**
   * Delivers runs to `handle` until `stopTaking` is called. If `handle` throws, the run is delivered again. If it
   * returns true, the next run is delivered at once; otherwise at the next notification or poll.
   */
  handleJobs(handle: (delivery: Delivery) => Promise<boolean>): Promise<void>
  /** Stops further deliveries. Running handlers continue. */
  stopTaking(): Promise<void>
}
