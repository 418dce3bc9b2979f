import { lazySource } from '../lazy-source.ts'
import type { Connector } from '../connector.ts'
import type { StoreOptions, StoreType } from '../object-store/store-options.ts'

/** Sources for files in buckets and containers. */
export function objectStores(parts: StoreOptions): Record<StoreType, Connector> {
  const kind = (type: StoreType) => lazySource(async () => (await import('./read-stores.ts')).readStores(parts)[type])
  return { OBJECT_STORAGE_BUCKET: kind('OBJECT_STORAGE_BUCKET'), CLOUD_BLOB_STORAGE: kind('CLOUD_BLOB_STORAGE') }
}
