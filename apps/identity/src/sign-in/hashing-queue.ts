import { availableParallelism } from 'node:os'
import { limitConcurrency } from '@sluice/http-server'

/**
 * Limits hashing in the thread pool, which has four threads. Each hash takes 19 MiB and a core for about 15 ms. The
 * limit is the number of cores plus one, at most four, so that no core is idle while the main thread builds a response.
 * More hashes would only compete. The queue holds about one second of a core's work. Throws 503 if the queue is full.
 */
export const hashing = limitConcurrency({
  atOnce: Math.min(4, availableParallelism() + 1),
  waiting: 64,
  title: 'Too many passwords are being checked.',
})
