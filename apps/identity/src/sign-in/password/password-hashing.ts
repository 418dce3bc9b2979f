import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { limitConcurrency } from '@sluice/http-server'

/** argon2id (2) with OWASP's minimum: 19 MiB, two passes, a parallelism of one. It took 17 ms on the measured machine. */
const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash that no password matches. The verification takes as long as for a real hash. */
const decoyHash = `$argon2id$v=19$m=${argon2Parameters.memoryCost},t=${argon2Parameters.timeCost},p=${argon2Parameters.parallelism}$c2x1aWNlLWRlY295LXNhbHQ$${'A'.repeat(43)}`

/**
 * Limits hashing in the thread pool, which has four threads. Each hash takes 19 MiB and a core for about 15 ms. The
 * limit is the number of cores plus one, at most four, so that no core is idle while the main thread builds a response.
 * More hashes would only compete. The queue holds about one second of a core's work. Throws 503 if the queue is full.
 */
export const hashingConcurrency = limitConcurrency({
  maxRunning: Math.min(4, availableParallelism() + 1),
  maxWaiting: 64,
  title: 'Too many concurrent password checks.',
})

export const hashPassword = (password: string): Promise<string> =>
  hashingConcurrency(() => hash(password, argon2Parameters))

/** Verifies a password. Takes the same time without a stored hash, so that the time does not reveal whether a user exists. */
export function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  return hashingConcurrency(async () => {
    const matches = await verify(stored ?? decoyHash, password)
    const hasPassword = stored !== null && stored !== undefined
    return matches && hasPassword
  })
}
