import { passwordLength } from '@sluice/contracts'
import type { Texts } from './texts/en.ts'

/** What is wrong, by field. */
export type WrongPassword = Partial<Record<'password' | 'repeat', string>>

/** What is wrong with a new password as it was typed twice. Undefined: nothing that can be seen from here. */
export function wrongWith(password: string, repeat: string, texts: Texts): WrongPassword | undefined {
  const words = texts.newPassword
  const { least, most } = passwordLength
  const length = [...password].length
  if (length === 0) return { password: words.missing }
  if (length < least) return { password: words.tooShort(least) }
  if (length > most) return { password: words.tooLong(most) }
  if (repeat === '') return { repeat: words.repeatMissing }
  return password === repeat ? undefined : { repeat: words.unequal }
}
