import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { limitConcurrency } from '@sluice/http-server'

/**
 * argon2id (`algorithm: 2`) with OWASP's minimum: 19 MiB, two passes, parallelism 1. One hash took 17 ms on the
 * measured machine.
 */
const argon2Parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash that no password matches. Verifying it takes as long as verifying a real hash. */
const decoyHash = `$argon2id$v=19$m=${argon2Parameters.memoryCost},t=${argon2Parameters.timeCost},p=${argon2Parameters.parallelism}$c2x1aWNlLWRlY295LXNhbHQ$${'A'.repeat(43)}`

/**
 * Limits concurrent hashing, which runs in a thread pool of four threads. Each hash takes 19 MiB and about 15 ms of a
 * core. The limit is the number of cores plus one, at most four, so that no core is idle while the main thread builds a
 * response; more hashes would only compete. The queue holds about one second of work. Throws 503 if the queue is full.
 */
export const hashingConcurrency = limitConcurrency({
  maxRunning: Math.min(4, availableParallelism() + 1),
  maxWaiting: 64,
  title: 'Too many concurrent password checks.',
})

export const hashPassword = (password: string): Promise<string> =>
  hashingConcurrency(() => hash(password, argon2Parameters))

/**
 * Verifies a password. Without a stored hash it verifies a decoy, so that the duration does not reveal whether a user
 * exists.
 */
export function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  return hashingConcurrency(async () => {
    const matches = await verify(stored ?? decoyHash, password)
    const hasPassword = stored !== null && stored !== undefined
    return matches && hasPassword
  })
}
