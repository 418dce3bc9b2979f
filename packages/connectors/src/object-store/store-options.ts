import type { OutgoingAllowList, RetryPolicy } from '@sluice/http-client'
import type { DownloadLimits } from './download.ts'

export type StoreType = 'OBJECT_STORAGE_BUCKET' | 'CLOUD_BLOB_STORAGE'

export interface StoreOptions {
  filesDirectory: string
  /** Addresses inside the network that the operator allows users to reach. */
  allowed: OutgoingAllowList
  retryPolicy?: RetryPolicy
  limits?: DownloadLimits
}
