import { availableParallelism } from 'node:os'
import { limitConcurrency } from '@sluice/http'

/**
 * Runs heavy work of the thread pool, which has four threads. Each takes 19 MiB and a core for about 15 ms. One more than
 * there are cores, up to those four, so that none of them rests while an answer is made of what was checked; more would only
 * wait for each other. What may wait is about one second of a core's work. Throws 503 beyond that.
 */
export const hashing = limitConcurrency({
  atOnce: Math.min(4, availableParallelism() + 1),
  waiting: 64,
  title: 'Too many passwords are being checked.',
})
