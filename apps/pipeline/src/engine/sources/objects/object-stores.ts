import type { CsvOptions, SourceBody } from '@sluice/contracts'
import type { OutgoingAllowed } from '@sluice/http/outgoing'
import type { SourceSecrets } from '../../../source-secrets.ts'
import type { Reading, SourceKind } from '../reading.ts'
import { askStore } from './ask-store.ts'
import { chooseObjects } from './choose-objects.ts'
import type { ObjectStore } from './object-store.ts'
import { brisk, patient, type Retrying } from './passing-trouble.ts'
import { readObjects } from './read-objects.ts'
import { s3Store } from './s3/s3-store.ts'

type StoreType = 'OBJECT_STORAGE_BUCKET'
type Settings = Extract<SourceBody, { type: StoreType }>

/** Milliseconds without a byte after which a connection is taken for dead; where somebody waits for the answer, fewer. */
const silence = { run: 60_000, asked: 12_000 }

interface Parts {
  /** Where objects are kept while they are read. */
  filesDirectory: string
  /** What the operator lets be reached inside the network, at addresses that users type. */
  allowed: OutgoingAllowed
  /** How what passes is waited for; as runs do it when absent. */
  retrying?: Retrying
}

/** Files in buckets. */
export function objectStores({ filesDirectory, allowed, retrying = patient }: Parts): Record<StoreType, SourceKind> {
  const open = (reading: Reading, milliseconds: number): ObjectStore => {
    const { objectStoreSource } = reading.settings as Settings
    const ask = askStore(allowed, { silence: milliseconds })
    return s3Store({ ...bucketOf(objectStoreSource), ...keysOf(reading.secrets) }, ask)
  }

  const kind: SourceKind = {
    async *read(reading, report, signal) {
      await using store = open(reading, silence.run)
      const { key } = reading.settings as Settings
      yield* readObjects({ store, filesDirectory, options: optionsOf(reading), retrying }, key, report, signal)
    },
    async test(reading, signal) {
      await using store = open(reading, silence.asked)
      const { key } = reading.settings as Settings
      await chooseObjects({ store, key, retrying: brisk, enough: 1 }, signal)
    },
  }
  return { OBJECT_STORAGE_BUCKET: kind }
}

function bucketOf({ bucket = '', endpoint, region, pathStyle }: Settings['objectStoreSource']) {
  return {
    bucket,
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(pathStyle !== undefined && { pathStyle }),
  }
}

function keysOf({ accessKey, secretKey }: SourceSecrets) {
  return accessKey !== undefined && secretKey !== undefined ? { accessKey, secretKey } : {}
}

/** The delimiter is a field of its own here; what is no delimited text takes any. */
function optionsOf({ settings }: Reading): CsvOptions {
  const { csvOptions, delimiter } = settings as Settings
  return { ...csvOptions, delimiter }
}
