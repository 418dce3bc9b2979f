import type { KeyRing } from '@sluice/database'
import type { Redaction, Semaphore } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Destinations } from '../destinations/destinations.ts'
import type { Claim } from '../runs/claim-run.ts'
import type { RunOutcome } from '../run-lifecycle/finish-run.ts'
import type { RunLog } from '../runs/run-log.ts'
import type { Totals } from '../runs/heartbeat.ts'
import type { ConnectorRegistry } from '@sluice/connectors/registry/connector-registry'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'

/** The services of the worker process that runs use. */
export interface RunContext {
  db: Kysely<DB>
  /** Queues the runs that the end of this run triggers. */
  queue: JobQueue
  warehouses: ClientWarehouses
  sources: ConnectorRegistry
  destinations: Destinations
  /** Decrypts the secrets of sources, targets and variables. */
  keyRing: KeyRing
  /** The maximum number of concurrent runs of one organisation in all workers. */
  clientConcurrency: number
  /**
   * The slots for concurrent runs in this worker. An organisation that already has a slot cannot take the last free
   * one.
   */
  slots: Semaphore
  redaction: Redaction
  /** Seconds without activity after which a source times out. */
  sourceSilence: number
  /** Whether the service can send emails about failed runs. */
  mails: boolean
  /**
   * Returns whether an organisation exists and may run pipelines. Returns true if the identity service is unavailable.
   */
  isClientActive(client: string): Promise<boolean>
}

export interface RunAttempt {
  claim: Claim
  log: RunLog
  signal: AbortSignal
  /** Sets the progress that the next heartbeat writes. */
  reportProgress(totals: Totals): void
  /**
   * Writes the progress and renews the lease immediately. Returns whether this is still the current attempt of the run.
   */
  sendHeartbeat(): Promise<boolean>
  /**
   * Adds work that continues after the end of the run. The worker's slot becomes free only when this work ends. The
   * promise must never reject.
   */
  onBackgroundWork(work: Promise<void>): void
}

export type RunSuccess = Extract<RunOutcome, { state: 'OK' | 'WARNING' }>

export interface RunHandler {
  /** Executes the run. Throws errors with a code and a sentence for users, or the signal's reason. */
  run(context: RunContext, attempt: RunAttempt): Promise<RunSuccess>
  /**
   * Called before a run ends without success. If an attempt has published the run but could not record that, returns
   * the success. Otherwise returns undefined, and from then on neither this attempt nor an earlier one can publish the
   * run.
   */
  recover?(
    context: Pick<RunContext, 'warehouses'>,
    run: Pick<Claim, 'client' | 'uid' | 'attempt' | 'action' | 'rowsRejected'>,
  ): Promise<RunSuccess | undefined>
}
