import { Semaphore, SemaphoreBusy } from '@sluice/process'
import { WarehouseProblem } from './warehouse.ts'

/** Milliseconds that a query waits for a slot. */
const waitMs = 15_000
const title = 'Many queries are running in this warehouse just now. Try again in a moment.'

/** SQL of users at once in this process, shared by warehouse: of a client, that is. Pushes read for as long as their target takes. */
const shares = {
  queries: new Semaphore({ total: 12, each: 3, waiting: 100, waitMs, title }),
  pushes: new Semaphore({ total: 16, each: 4, waiting: 100, waitMs, title }),
}

/** A slot for a query of the warehouse `key`. Throws WAREHOUSE_BUSY after a while, and the signal's reason when it aborts. */
export async function acquireQuery(kind: keyof typeof shares, key: string, signal?: AbortSignal): Promise<Disposable> {
  try {
    return await shares[kind].acquire(key, { signal })
  } catch (error) {
    if (!(error instanceof SemaphoreBusy)) throw error
    throw new WarehouseProblem('WAREHOUSE_BUSY', error.message, { retryable: true })
  }
}
