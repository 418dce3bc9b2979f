import type { SourceBody } from '@sluice/contracts'
import type { SourceSecrets } from '../../../sealed-secrets.ts'
import type { WholeKind } from '../by-need.ts'
import { columnsBefore } from '../empty-feed.ts'
import { rememberedFile } from '../files/csv/remembered.ts'
import type { FileOptions } from '../read-upload.ts'
import type { Reading } from '../reading.ts'
import { type AskStore, askStore } from './ask-store.ts'
import { azureStore } from './azure/azure-store.ts'
import { chooseObjects } from './choose-objects.ts'
import { downloadLimits } from './download.ts'
import type { ObjectStore } from './object-store.ts'
import type { StoreParts, StoreType } from './object-stores.ts'
import { asPatient, brisk, patient, type Retrying } from './passing-trouble.ts'
import { previewObjects } from './preview-objects.ts'
import type { ObjectReading } from './read-object.ts'
import { findIncrement, type Increment, readIncrement, readObjects, type Wanted } from './read-objects.ts'
import { s3Store } from './s3/s3-store.ts'
import { withoutOwn } from './table-of-objects.ts'

type Settings<Type extends StoreType = StoreType> = Extract<SourceBody, { type: Type }>

/** Milliseconds without a byte after which a connection is taken for dead; where somebody waits for the answer, fewer. */
const silence = { run: 60_000, asked: 12_000 }

/** Milliseconds that looking for what is new may take. */
const longestLook = 60_000

/** Files in buckets and containers. */
export function readStores(parts: StoreParts): Record<StoreType, WholeKind> {
  const { filesDirectory, allowed, patience, limits = downloadLimits } = parts
  const retrying = patience ? asPatient(patience) : patient
  const kind = (storeOf: (reading: Reading, ask: AskStore) => ObjectStore): WholeKind => {
    const open = (reading: Reading, milliseconds: number) =>
      storeOf(reading, askStore(allowed, { silence: milliseconds }))
    const how = (reading: Reading, store: ObjectStore, again: Retrying): ObjectReading => {
      const known = withoutOwn(columnsBefore(reading.remembered))
      return { store, filesDirectory, options: optionsOf(reading), columnsBefore: known, retrying: again, limits }
    }
    // What was found new belongs to the very reading that it was found for: whether rows are merged hangs on it.
    const found = new WeakMap<Reading, Increment>()
    return {
      async increments(reading) {
        await using store = open(reading, silence.asked)
        try {
          const signal = AbortSignal.timeout(longestLook)
          const increment = await findIncrement(how(reading, store, brisk), wantedOf(reading), signal)
          if (increment) found.set(reading, increment)
          return increment !== undefined
        } catch {
          // Whatever it is, reading everything meets it again, with more patience, and says it.
          return false
        }
      },
      cursor: async () => 'OPAQUE',
      async *read(reading, report, signal) {
        await using store = open(reading, silence.run)
        const increment = found.get(reading)
        const asked = how(reading, store, retrying)
        if (increment) yield* readIncrement(asked, reading.settings, increment, report, signal)
        else yield* readObjects(asked, wantedOf(reading), report, signal)
      },
      async test(reading, signal) {
        await using store = open(reading, silence.asked)
        const { key } = wantedOf(reading)
        await chooseObjects({ store, key, retrying: brisk, enough: 1 }, signal)
      },
      async preview(reading, rows, signal) {
        await using store = open(reading, silence.asked)
        return await previewObjects(how(reading, store, brisk), wantedOf(reading).key, rows, signal)
      },
    }
  }
  return { OBJECT_STORAGE_BUCKET: kind(bucketOf), CLOUD_BLOB_STORAGE: kind(containerOf) }
}

function bucketOf({ settings, secrets }: Reading, ask: AskStore): ObjectStore {
  const { bucket = '', endpoint, region, pathStyle } = (settings as Settings<'OBJECT_STORAGE_BUCKET'>).objectStoreSource
  const { accessKey, secretKey } = secrets
  const open = {
    bucket,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { pathStyle }),
  }
  return s3Store({ ...open, ...(accessKey !== undefined && secretKey !== undefined && { accessKey, secretKey }) }, ask)
}

function containerOf({ settings, secrets }: Reading, ask: AskStore): ObjectStore {
  const { account, container, endpoint } = (settings as Settings<'CLOUD_BLOB_STORAGE'>).blobStoreSource
  const open = { account, container, ...(endpoint !== undefined && { endpoint }) }
  return azureStore({ ...open, ...waysOf(secrets) }, ask)
}

function waysOf({ accountKey, sasToken }: SourceSecrets) {
  if (accountKey !== undefined) return { accountKey }
  return sasToken === undefined ? {} : { sasToken }
}

const wantedOf = ({ settings, cursor, mode, reset }: Reading): Wanted => {
  const { key } = settings as Settings
  return { key, settings, ...(mode === 'INCREMENTAL' && !reset && { cursor }) }
}

/** The delimiter is a field of its own here; what is no delimited text takes any. */
function optionsOf({ settings, remembered }: Reading): FileOptions {
  const { csvOptions, delimiter } = settings as Settings
  const known = rememberedFile(remembered)
  return { ...csvOptions, delimiter, ...(known && { remembered: known }) }
}
