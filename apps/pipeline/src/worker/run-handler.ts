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
  /** Queues the runs that follow from the end of a run. */
  queue: JobQueue
  warehouses: ClientWarehouses
  sources: ConnectorRegistry
  destinations: Destinations
  /** Unseals the secrets of sources, targets and variables. */
  keyRing: KeyRing
  /** Maximum number of concurrent runs of one client in all workers. */
  clientConcurrency: number
  /** The slots for concurrent runs, by client. No client may hold the last free slot. */
  slots: Semaphore
  redaction: Redaction
  /** Seconds without activity after which a source times out. */
  sourceSilence: number
  /** Whether the service can send mails about failed runs. */
  mails: boolean
  /** Whether a client exists and may run pipelines. True if the identity service is unavailable. */
  isClientActive(client: string): Promise<boolean>
}

export interface RunAttempt {
  claim: Claim
  log: RunLog
  signal: AbortSignal
  /** Sets the totals that the heartbeat writes. */
  reportProgress(totals: Totals): void
  /** Writes the totals and renews the lease at once. Returns whether this is still the current attempt of the run. */
  sendHeartbeat(): Promise<boolean>
  /** Adds work that continues after the end of the run. The worker's slot becomes free when this work ends. The promise must never reject. */
  onBackgroundWork(work: Promise<void>): void
}

export type RunSuccess = Extract<RunOutcome, { state: 'OK' | 'WARNING' }>

export interface RunHandler {
  /** Throws errors with a code and a sentence for users, or the signal's reason. */
  run(context: RunContext, attempt: RunAttempt): Promise<RunSuccess>
  /**
   * Returns the success of a run that an earlier attempt published before it could record it. Returns undefined if neither this attempt nor
   * an earlier one has published the run; from then on they cannot publish it. Called before a run ends without success.
   */
  recover?(
    context: Pick<RunContext, 'warehouses'>,
    run: Pick<Claim, 'client' | 'uid' | 'attempt' | 'action' | 'rowsRejected'>,
  ): Promise<RunSuccess | undefined>
}
