import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { problems } from '@sluice/http-server'
import { toSkeleton } from '../username.ts'

/** The message for each weakness. Messages do not repeat the password. */
const ruleMessages = {
  common: 'This password is on the list of common passwords. Choose another.',
  context:
    'The password contains the user’s name, username or e-mail address, or the name of the organisation or of Sluice. Choose another.',
}

export type PasswordWeakness = keyof typeof ruleMessages

/** Returns the reason why a password is easy to guess; undefined if no rule matches. */
export function findPasswordWeakness(password: string, owner: PasswordOwner): PasswordWeakness | undefined {
  if (isCommonPassword(password)) return 'common'
  return containsContextWord(password, owner) ? 'context' : undefined
}

/**
 * Throws 422 for a password that is easy to guess. The contract checks the length. `pointer` is the JSON pointer of the
 * field.
 */
export function checkPassword(password: string, owner: PasswordOwner, pointer = '/password'): void {
  const weakness = findPasswordWeakness(password, owner)
  if (weakness) throw problems.refused(pointer, ruleMessages[weakness])
}

/**
 * Sluice's list of common passwords with at least twelve characters: keyboard rows, sequences, repetitions, well-known
 * phrases, and common words with digits appended to reach the length.
 */
const commonPasswordText = readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
const commonPasswords = new Set(commonPasswordText.split('\n').filter(Boolean))

/** Returns whether the password is on the list. Ignores case, and up to four digits or symbols at its end. */
export function isCommonPassword(password: string): boolean {
  const plain = password.toLowerCase()
  return commonPasswords.has(plain) || commonPasswords.has(plain.replace(/[\d\W_]{1,4}$/, '')) || isRepetition(plain)
}

/** Returns whether the text is a repetition of one to four characters. */
const isRepetition = (text: string): boolean => /^(.{1,4}?)\1+.{0,3}$/su.test(text)

/** The user and organisation names that an attacker would try first. */
export interface PasswordOwner {
  username: string
  name: string
  email: string
  clientName: string
  clientCode: string
}

const productName = 'Sluice'

/** The minimum length of a name in code points. Shorter names occur in too many unrelated passwords. */
const minNameLength = 4

/** Maps digits and symbols to the letters that people replace with them. The ambiguous 1, ! and l become i. */
const letterBySubstitute = new Map(
  Object.entries({ o: '0', a: '4@', e: '3€', i: '1!|l', s: '5$', t: '7+' }).flatMap(([letter, signs]) =>
    [...signs].map((sign) => [sign, letter] as const),
  ),
)

/** Folds case, width, accents and look-alike letters, and replaces digits and symbols by letters. */
const foldText = (text: string): string =>
  [...toSkeleton(text).normalize('NFD').replaceAll(/\p{M}/gu, '')]
    .map((letter) => letterBySubstitute.get(letter) ?? letter)
    .join('')

/**
 * Returns whether the password contains a name or e-mail address of its user, or the name of the organisation or of
 * Sluice.
 */
export function containsContextWord(password: string, owner: PasswordOwner): boolean {
  const text = foldText(password)
  return listContextWords(owner).some((word) => text.includes(word))
}

function listContextWords({ username, name, email, clientName, clientCode }: PasswordOwner): string[] {
  const mailboxName = email.slice(0, Math.max(0, email.lastIndexOf('@')))
  const wholeNames = [username, mailboxName, clientCode]
  const nameParts = [...wholeNames, name, clientName, productName].flatMap((text) => text.split(/[^\p{L}\p{M}\p{N}]+/u))
  return [...wholeNames, ...nameParts].map(foldText).filter((word) => [...word].length >= minNameLength)
}
