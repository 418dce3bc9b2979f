import type { Kysely, Transaction } from 'kysely'
import type { DB } from '../database.ts'

/** The payload of a job. The queue limits the concurrent runs of each client. */
export interface QueuedRun {
  uid: string
  client: string
}

/** A run that the queue delivers to this worker. */
export interface Delivery {
  run: string
  client: string
  /** Aborts when the queue ends the delivery: the heartbeats stopped, or the job expired after a day. */
  signal: AbortSignal
  /**
   * Ends this delivery and queues the run again after `afterSeconds`, in the caller's transaction. Returns false, and queues
   * nothing, if the delivery has already ended.
   */
  requeue(trx: Transaction<DB>, afterSeconds: number): Promise<boolean>
}

/** Delivers runs to the workers. A run is in the queue at most once. */
export interface JobQueue extends AsyncDisposable {
  /** Queues a run in the caller's transaction, so that the run's row and its job commit together. */
  send(trx: Transaction<DB>, run: QueuedRun): Promise<void>
  /** Queues the runs that are neither waiting nor delivered. Returns their number. */
  sendMissing(db: Kysely<DB>, runs: readonly QueuedRun[]): Promise<number>
  /** Throws if the queue is not available. */
  check(): Promise<void>
  /** Waits for running handlers, at most two seconds. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The queue with the methods of a worker. */
export interface WorkerQueue extends JobQueue {
  /**
   * Delivers runs until `stopTaking`. If the handler throws, the run is delivered again. If it returns true, the next run is delivered
   * at once; otherwise it waits for a notification or the next poll.
   */
  handleJobs(handle: (delivery: Delivery) => Promise<boolean>): Promise<void>
  /** Stops further deliveries. Running handlers continue. */
  stopTaking(): Promise<void>
}
