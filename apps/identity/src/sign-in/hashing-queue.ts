import { availableParallelism } from 'node:os'
import { fewAtOnce } from '@sluice/http'

/**
 * Runs heavy work of the thread pool. Each takes 19 MiB and a core for about 20 ms, so more at once would only wait for each
 * other; what may wait is about one second of work. Throws 503 beyond that.
 */
export const hashing = fewAtOnce({
  atOnce: Math.max(2, Math.min(4, availableParallelism())),
  waiting: 64,
  title: 'Too many passwords are being checked.',
})
