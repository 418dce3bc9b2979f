import type { SourceBody } from '@sluice/contracts'
import { findRememberedDialect } from '@sluice/file-formats/csv/remembered'
import type { FileOptions } from '@sluice/file-formats/upload/read-upload'
import { backgroundRetry, interactiveRetry, type RetryPolicy } from '@sluice/http-client'
import { columnsBefore } from '@sluice/row-stream'
import type { Connector, ConnectorContext, ReadRequest } from '../connector.ts'
import { omitOwnColumns } from './combined-table.ts'
import type { ObjectStore } from './object-store.ts'
import { previewObjects } from './preview-objects.ts'
import type { DownloadLimits, ObjectReading } from './read-object.ts'
import { type ObjectIncrement, type ObjectsRequest, findIncrement, readIncrement, readObjects } from './read-objects.ts'
import { selectObjects } from './select-objects.ts'
import { createStoreClient, type StoreClient } from './store-client.ts'

export interface StoreContext extends ConnectorContext {
  limits?: DownloadLimits
}

/** Idle timeouts in milliseconds: of runs, and of requests that a user waits for. */
const backgroundIdleTimeoutMs = 60_000
const interactiveIdleTimeoutMs = 12_000
/** Timeout for finding changes. */
const incrementTimeoutMs = 60_000

/** Reads the files of a bucket or container. */
export function objectStoreConnector(
  openStore: (request: ReadRequest, client: StoreClient) => ObjectStore,
  { filesDirectory, allowed, retryPolicy: backgroundPolicy = backgroundRetry, limits }: StoreContext,
): Connector {
  const open = (request: ReadRequest, idleTimeoutMs: number) =>
    openStore(request, createStoreClient(allowed, idleTimeoutMs))
  const readingOf = (request: ReadRequest, store: ObjectStore, retryPolicy: RetryPolicy): ObjectReading => ({
    store,
    filesDirectory,
    options: fileOptions(request),
    columnsBefore: omitOwnColumns(columnsBefore(request.remembered)),
    retryPolicy,
    ...(limits && { limits }),
  })
  // Kept for `read`, because whether rows are merged was decided by this increment.
  const increments = new WeakMap<ReadRequest, ObjectIncrement>()

  return {
    async canReadIncrement(request) {
      await using store = open(request, interactiveIdleTimeoutMs)
      try {
        const reading = readingOf(request, store, interactiveRetry)
        const increment = await findIncrement(reading, objectsRequest(request), AbortSignal.timeout(incrementTimeoutMs))
        if (increment) increments.set(request, increment)
        return increment !== undefined
      } catch {
        // A full read meets the same error, retries it longer and reports it.
        return false
      }
    },
    getCursorKind: async () => 'OPAQUE',
    async *read(request, report, signal) {
      await using store = open(request, backgroundIdleTimeoutMs)
      const increment = increments.get(request)
      const reading = readingOf(request, store, backgroundPolicy)
      if (increment) yield* readIncrement(reading, request.settings, increment, report, signal)
      else yield* readObjects(reading, objectsRequest(request), report, signal)
    },
    async testConnection(request, signal) {
      await using store = open(request, interactiveIdleTimeoutMs)
      const { key } = objectsRequest(request)
      await selectObjects({ store, key, retryPolicy: interactiveRetry, enough: 1 }, signal)
    },
    async preview(request, rows, signal) {
      await using store = open(request, interactiveIdleTimeoutMs)
      const reading = readingOf(request, store, interactiveRetry)
      return await previewObjects(reading, objectsRequest(request).key, rows, signal)
    },
  }
}

type StoreSettings = Extract<SourceBody, { type: 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE' }>

function objectsRequest({ settings, cursor, mode, reset }: ReadRequest): ObjectsRequest {
  const { key } = settings as StoreSettings
  return { key, settings, ...(mode === 'INCREMENTAL' && !reset && { cursor }) }
}

/** The delimiter is a separate setting of object stores; other formats ignore it. */
function fileOptions({ settings, remembered }: ReadRequest): FileOptions {
  const { csvOptions, delimiter } = settings as StoreSettings
  const known = findRememberedDialect(remembered)
  return { ...csvOptions, delimiter, ...(known && { remembered: known }) }
}
