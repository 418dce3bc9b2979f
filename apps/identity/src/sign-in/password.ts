import { hash, verify } from '@node-rs/argon2'
import { problems } from '@sluice/http-server'
import { type PasswordOwner, holdsContextWord } from './context-words.ts'
import { hashing } from './hashing-queue.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Sluice's list of common passwords with twelve or more characters: keyboard rows, sequences and repetitions, well-known
 * phrases, and common words with the digits that people add to make them long enough.
 */
const list = readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
const common = new Set(list.split('\n').filter(Boolean))

/** Returns whether the list has the password. Ignores case, and digits and signs at the end that the list lacks. */
export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase()
  return common.has(plain) || common.has(plain.replace(/[\d\W_]{1,4}$/, '')) || isRepetition(plain)
}

/** Returns whether the text repeats one to four characters. */
const isRepetition = (text: string): boolean => /^(.{1,4}?)\1+.{0,3}$/su.test(text)

/** argon2id (2) with OWASP's minimum: 19 MiB, two passes, a parallelism of one. It took 17 ms on the measured machine. */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash that no password matches. The verification takes as long as for a real hash. */
const decoy = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$c2x1aWNlLWRlY295LXNhbHQ$${'A'.repeat(43)}`

/** The messages of the weaknesses. No message repeats the password. */
const sentences = {
  common: 'This password is on every list of common ones: choose another.',
  context:
    'A password does not hold its user’s name, username or e-mail address, nor the name of their organisation or of Sluice: choose another.',
}
export type PasswordWeakness = keyof typeof sentences

/** Returns why a password is easy to guess; undefined if no rule matches. */
export function weaknessOf(password: string, owner: PasswordOwner): PasswordWeakness | undefined {
  if (isCommonPassword(password)) return 'common'
  return holdsContextWord(password, owner) ? 'context' : undefined
}

/** Rejects a password that is easy to guess. The contract checks the length. `pointer` names the field. */
export function checkPassword(password: string, owner: PasswordOwner, pointer = '/password'): void {
  const weakness = weaknessOf(password, owner)
  if (weakness) throw problems.refused(pointer, sentences[weakness])
}

export const hashPassword = (password: string): Promise<string> => hashing(() => hash(password, cost))

/** Verifies a password. Takes the same time without a stored hash. */
export function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  return hashing(async () => (await verify(stored ?? decoy, password)) && stored !== null && stored !== undefined)
}
