import type { KeyRing } from '@sluice/database'
import { type Caller, type RequestFacts, createOperationDefiner } from '@sluice/http-server'
import type { Logger } from '@sluice/process'
import type { DatabaseContext } from '@sluice/records'
import type { DB } from '../database.ts'
import type { RunningExports } from '../exports/running-exports.ts'
import type { Destinations } from '../destinations/destinations.ts'
import type { ClientWarehouses } from '../warehouses/client-warehouses.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { RunWatcher } from './runs/watch-run-changes.ts'
import type { ConnectorRegistry } from '@sluice/connectors/registry/connector-registry'
import type { WarehouseReaders } from '../warehouse-readers/warehouse-readers.ts'
import type { IdentityLookups } from '../identity/identity-lookups.ts'

/** The dependencies of every operation handler of this service. */
export interface PipelineContext extends DatabaseContext<DB> {
  identity: IdentityLookups
  warehouses: ClientWarehouses
  readers: WarehouseReaders
  /** The certificates (PEM) with which programs verify the server of the PostgreSQL warehouse. */
  readerCertificate: string | undefined
  queue: JobQueue
  sources: ConnectorRegistry
  destinations: Destinations
  /** The upload directory, and the maximum size in bytes of one upload and of all files of an organisation. */
  files: { directory: string; uploadLimit: number; clientLimit: number }
  exports: RunningExports
  /** Notifies event streams about new and changed runs. */
  runWatcher: RunWatcher
  /** Encrypts the secrets of sources and targets. */
  keyRing: KeyRing
  /** Whether a mail server is configured. */
  mails: boolean
  logger: Logger
}

/** The dependencies and the facts of one request. */
export type RequestContext = PipelineContext & { caller: Caller; request: RequestFacts }

export const definePipelineOperation = createOperationDefiner<PipelineContext>()
