import type { KeyRing } from '@sluice/database'
import type { Redaction, Semaphore } from '@sluice/process'
import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Destinations } from '../destinations/destinations.ts'
import type { Claim } from '../runs/claim.ts'
import type { Outcome } from '../run-lifecycle/finish-run.ts'
import type { RunLog } from '../runs/run-log.ts'
import type { Totals } from '../runs/heartbeat.ts'
import type { Sources } from '../sources/sources.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'

/** What every run needs of the process. */
export interface WorkParts {
  db: Kysely<DB>
  /** Takes the runs that follow from the end of this one. */
  queue: JobQueue
  warehouses: ClientWarehouses
  sources: Sources
  destinations: Destinations
  /** Opens the secrets of sources, targets and variables. */
  keyRing: KeyRing
  /** Runs of one client at once, in all workers together. */
  clientConcurrency: number
  /** What runs are at work in, by client. No client holds the last free one. */
  slots: Semaphore
  redaction: Redaction
  /** Seconds without a sign of life after which a source is given up. */
  sourceSilence: number
  /** Whether mails about failed runs go out. */
  mails: boolean
  /** Whether a client exists and may load. True where nobody can tell just now. */
  clientStands(client: string): Promise<boolean>
}

/** What this run needs of its attempt. */
export interface Attempt {
  claim: Claim
  log: RunLog
  signal: AbortSignal
  /** Where the counts go, from the moment that something is read. */
  count(totals: Totals): void
  stillOurs(): Promise<boolean>
  /** Takes what goes on once the run has its ending, and never fails; the worker is not free for another before it is through. */
  behind(work: Promise<void>): void
}

export type Success = Extract<Outcome, { state: 'OK' | 'WARNING' }>

/** What one kind of thing does when it is run. Throws problems with a code and a sentence, or whatever ended it. */
export interface Work {
  run(parts: WorkParts, attempt: Attempt): Promise<Success>
  /**
   * How a run ended that an attempt brought about without living to say so; undefined where none did, nor will any up to this one.
   * Asked before a run is called failed or cancelled for good. Absent where there is nobody to ask.
   */
  doneAlready?(
    parts: Pick<WorkParts, 'warehouses'>,
    run: Pick<Claim, 'client' | 'uid' | 'attempt' | 'action' | 'rowsRejected'>,
  ): Promise<Success | undefined>
}
