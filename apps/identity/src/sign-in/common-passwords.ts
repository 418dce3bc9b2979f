import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Our own list of what is guessed first among passwords of twelve characters or more: rows of the keyboard, runs and
 * repetitions, well-known phrases, and common words with the digits that people add to make them long enough.
 */
const list = readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
const common = new Set(list.split('\n').filter(Boolean))

/** Compared without case, and without digits and signs at the end beyond those that the list has. */
export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase()
  return common.has(plain) || common.has(plain.replace(/[\d\W_]{1,4}$/, '')) || isRepetition(plain)
}

/** One to four characters over and over. */
const isRepetition = (text: string): boolean => /^(.{1,4}?)\1+.{0,3}$/su.test(text)
