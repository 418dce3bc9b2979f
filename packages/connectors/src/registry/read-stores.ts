import type { SourceBody } from '@sluice/contracts'
import type { SourceSecrets, SourceReading } from '../connector.ts'
import type { CompleteSourceKind } from '../lazy-source.ts'
import { columnsBefore } from '@sluice/row-stream'
import { rememberedFile } from '@sluice/file-formats/csv/remembered'
import type { FileOptions } from '@sluice/file-formats/upload/read-upload'
import { type StoreClient, createStoreClient } from '../object-store/store-client.ts'
import { azureStore } from '../azure-blob/azure-store.ts'
import { selectObjects } from '../object-store/select-objects.ts'
import { downloadLimits } from '../object-store/download.ts'
import type { ObjectStore } from '../object-store/object-store.ts'
import type { StoreOptions, StoreType } from '../object-store/store-options.ts'
import {
  type StoreRetryPolicy,
  backgroundRetry,
  interactiveRetry,
  toStoreRetryPolicy,
} from '../object-store/transient-error.ts'
import { previewObjects } from '../object-store/preview-objects.ts'
import type { ObjectReading } from '../object-store/read-object.ts'
import {
  type ObjectIncrement,
  type ObjectsRequest,
  findIncrement,
  readIncrement,
  readObjects,
} from '../object-store/read-objects.ts'
import { s3Store } from '../s3/s3-store.ts'
import { omitOwnColumns } from '../object-store/combined-table.ts'

type StoreSettings<Type extends StoreType = StoreType> = Extract<SourceBody, { type: Type }>

/** Idle timeouts in milliseconds: `run` for loads, `asked` for requests that a user waits for. */
const silence = { run: 60_000, asked: 12_000 }

/** Timeout for finding changes, in milliseconds. */
const incrementTimeoutMs = 60_000

/** Sources for files in buckets and containers. */
export function readStores(parts: StoreOptions): Record<StoreType, CompleteSourceKind> {
  const { filesDirectory, allowed, retryPolicy, limits = downloadLimits } = parts
  const retrying = retryPolicy ? toStoreRetryPolicy(retryPolicy) : backgroundRetry
  const kind = (storeOf: (reading: SourceReading, ask: StoreClient) => ObjectStore): CompleteSourceKind => {
    const open = (reading: SourceReading, milliseconds: number) =>
      storeOf(reading, createStoreClient(allowed, { silence: milliseconds }))
    const how = (reading: SourceReading, store: ObjectStore, again: StoreRetryPolicy): ObjectReading => {
      const known = omitOwnColumns(columnsBefore(reading.remembered))
      return { store, filesDirectory, options: optionsOf(reading), columnsBefore: known, retrying: again, limits }
    }
    // An increment belongs to the reading that it was found for, because it decides whether rows are merged.
    const found = new WeakMap<SourceReading, ObjectIncrement>()
    return {
      async increments(reading) {
        await using store = open(reading, silence.asked)
        try {
          const signal = AbortSignal.timeout(incrementTimeoutMs)
          const increment = await findIncrement(
            how(reading, store, interactiveRetry),
            toObjectsRequest(reading),
            signal,
          )
          if (increment) found.set(reading, increment)
          return increment !== undefined
        } catch {
          // A full read meets the same error, retries it longer and reports it.
          return false
        }
      },
      cursor: async () => 'OPAQUE',
      async *read(reading, report, signal) {
        await using store = open(reading, silence.run)
        const increment = found.get(reading)
        const asked = how(reading, store, retrying)
        if (increment) yield* readIncrement(asked, reading.settings, increment, report, signal)
        else yield* readObjects(asked, toObjectsRequest(reading), report, signal)
      },
      async test(reading, signal) {
        await using store = open(reading, silence.asked)
        const { key } = toObjectsRequest(reading)
        await selectObjects({ store, key, retrying: interactiveRetry, enough: 1 }, signal)
      },
      async preview(reading, rows, signal) {
        await using store = open(reading, silence.asked)
        return await previewObjects(how(reading, store, interactiveRetry), toObjectsRequest(reading).key, rows, signal)
      },
    }
  }
  return { OBJECT_STORAGE_BUCKET: kind(bucketOf), CLOUD_BLOB_STORAGE: kind(containerOf) }
}

function bucketOf({ settings, secrets }: SourceReading, ask: StoreClient): ObjectStore {
  const {
    bucket = '',
    endpoint,
    region,
    pathStyle,
  } = (settings as StoreSettings<'OBJECT_STORAGE_BUCKET'>).objectStoreSource
  const { accessKey, secretKey } = secrets
  const open = {
    bucket,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { pathStyle }),
  }
  return s3Store({ ...open, ...(accessKey !== undefined && secretKey !== undefined && { accessKey, secretKey }) }, ask)
}

function containerOf({ settings, secrets }: SourceReading, ask: StoreClient): ObjectStore {
  const { account, container, endpoint } = (settings as StoreSettings<'CLOUD_BLOB_STORAGE'>).blobStoreSource
  const open = { account, container, ...(endpoint !== undefined && { endpoint }) }
  return azureStore({ ...open, ...credentialsOf(secrets) }, ask)
}

function credentialsOf({ accountKey, sasToken }: SourceSecrets) {
  if (accountKey !== undefined) return { accountKey }
  return sasToken === undefined ? {} : { sasToken }
}

const toObjectsRequest = ({ settings, cursor, mode, reset }: SourceReading): ObjectsRequest => {
  const { key } = settings as StoreSettings
  return { key, settings, ...(mode === 'INCREMENTAL' && !reset && { cursor }) }
}

/** The delimiter is a separate setting of object stores; other formats ignore it. */
function optionsOf({ settings, remembered }: SourceReading): FileOptions {
  const { csvOptions, delimiter } = settings as StoreSettings
  const known = rememberedFile(remembered)
  return { ...csvOptions, delimiter, ...(known && { remembered: known }) }
}
