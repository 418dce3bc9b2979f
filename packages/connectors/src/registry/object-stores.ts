import type { OutgoingAllowList } from '@sluice/http-client'
import { lazySource } from './lazy-source.ts'
import type { SourceKind } from '../connector.ts'
import type { RetryPolicy } from '../http-connector/retry-policy.ts'
import type { DownloadLimits } from '../object-store/download.ts'

export type StoreType = 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'

export interface StoreOptions {
  filesDirectory: string
  /** Addresses inside the network that the operator allows users to reach. */
  allowed: OutgoingAllowList
  retryPolicy?: RetryPolicy
  limits?: DownloadLimits
}

/** Sources for files in buckets and containers. */
export function objectStores(parts: StoreOptions): Record<StoreType, SourceKind> {
  const kind = (type: StoreType) =>
    lazySource(async () => (await import('../object-store/read-stores.ts')).readStores(parts)[type])
  return { OBJECT_STORAGE_BUCKET: kind('OBJECT_STORAGE_BUCKET'), CLOUD_BLOB_STORAGE: kind('CLOUD_BLOB_STORAGE') }
}
