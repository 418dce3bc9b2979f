import type { OutgoingAllowed } from '@sluice/http/outgoing'
import { byNeed } from '../by-need.ts'
import type { SourceKind } from '../reading.ts'
import type { Patience } from '../systems/http/patience.ts'
import type { DownloadLimits } from './download.ts'

export type StoreType = 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'

export interface StoreParts {
  /** Where objects are kept while they are read. */
  filesDirectory: string
  /** What the operator lets be reached inside the network, at addresses that users type. */
  allowed: OutgoingAllowed
  /** How patiently a load asks again. */
  patience?: Patience
  limits?: DownloadLimits
}

/** Files in buckets and containers. */
export function objectStores(parts: StoreParts): Record<StoreType, SourceKind> {
  const kind = (type: StoreType) => byNeed(async () => (await import('./read-stores.ts')).readStores(parts)[type])
  return { OBJECT_STORAGE_BUCKET: kind('OBJECT_STORAGE_BUCKET'), CLOUD_BLOB_STORAGE: kind('CLOUD_BLOB_STORAGE') }
}
