import type { KeyRing } from '@sluice/database'
import type { Caller, RequestFacts } from '@sluice/http'
import { operationsWith } from '@sluice/http'
import type { Logger } from '@sluice/process'
import type { DatabaseContext } from '@sluice/records'
import type { DB } from '../database.ts'
import type { Destinations } from '../engine/destinations/destinations.ts'
import type { ClientWarehouses } from '../engine/warehouses/client-warehouses.ts'
import type { JobQueue } from '../engine/queue/job-queue.ts'
import type { Sources } from '../engine/sources/sources.ts'
import type { IdentityLookups } from '../identity/lookups.ts'

/** What every handler of this service is given besides its request. */
export interface PipelineContext extends DatabaseContext<DB> {
  identity: IdentityLookups
  warehouses: ClientWarehouses
  queue: JobQueue
  sources: Sources
  destinations: Destinations
  /** Where uploads are, and bytes: of one, and of all of a client. */
  files: { directory: string; uploadLimit: number; clientLimit: number }
  /** Seals the secrets of sources and targets. */
  keyRing: KeyRing
  /** Whether mails about failed runs go out. */
  mails: boolean
  logger: Logger
}

/** The same with the facts of one request: what presenting a row needs. */
export type RequestContext = PipelineContext & { caller: Caller; request: RequestFacts }

export const operation = operationsWith<PipelineContext>()
