import { hash, verify } from '@node-rs/argon2'
import { problems } from '@sluice/http'
import { isCommonPassword } from './common-passwords.ts'
import { hashing } from './hashing-queue.ts'

/** argon2id (2) at OWASP's minimum: 19 MiB, two passes, one lane. 17 ms on the machine it was measured on. */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The hash of a password that nobody has: checking against it takes as long as against a real one. */
const decoy = '$argon2id$v=19$m=19456,t=2,p=1$c2x1aWNlLWRlY295LXNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'

/** Refuses what is easy to guess. Length is the contract's matter. `pointer` names the field. */
export function checkPassword(password: string, pointer = '/password'): void {
  if (isCommonPassword(password))
    throw problems.refused(pointer, 'This password is on every list of common ones: choose another.')
}

export const hashPassword = (password: string): Promise<string> => hashing(() => hash(password, cost))

/** Is it the password? Takes the same time when there is none to compare with. */
export function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  return hashing(async () => (await verify(stored ?? decoy, password)) && stored !== null && stored !== undefined)
}
