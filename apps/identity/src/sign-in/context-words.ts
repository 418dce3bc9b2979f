import { skeletonOf } from './username.ts'

/** The owner's names that an attacker would guess first. */
export interface PasswordOwner {
  username: string
  name: string
  email: string
  clientName: string
  clientCode: string
}

const product = 'Sluice'

/** Minimum length in code points; shorter words match too many unrelated ones. */
const shortest = 4

/** Maps digits and signs that people write for letters to the letters; ambiguous ones (1, !, l) to one letter. */
const stand = new Map(
  Object.entries({ o: '0', a: '4@', e: '3€', i: '1!|l', s: '5$', t: '7+' }).flatMap(([letter, signs]) =>
    [...signs].map((sign) => [sign, letter] as const),
  ),
)

/** Folds case, width, accents, look-alikes and digits that replace letters. */
const folded = (text: string): string =>
  [...skeletonOf(text).normalize('NFD').replaceAll(/\p{M}/gu, '')].map((letter) => stand.get(letter) ?? letter).join('')

/** Returns whether the password contains a name or e-mail address of its user, or the organisation's or product's name. */
export function holdsContextWord(password: string, owner: PasswordOwner): boolean {
  const text = folded(password)
  return wordsOf(owner).some((word) => text.includes(word))
}

function wordsOf({ username, name, email, clientName, clientCode }: PasswordOwner): string[] {
  const local = email.slice(0, Math.max(0, email.lastIndexOf('@')))
  const whole = [username, local, clientCode]
  const parts = [...whole, name, clientName, product].flatMap((text) => text.split(/[^\p{L}\p{M}\p{N}]+/u))
  return [...whole, ...parts].map(folded).filter((word) => [...word].length >= shortest)
}
