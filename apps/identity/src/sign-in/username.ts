import { problems } from '@sluice/http'
import { withLatinTwins } from './look-alikes.ts'
import { hasUnusedScript, isOneScript } from './scripts.ts'

/** Characters that are not seen, or that change how their neighbours are seen. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/**
 * A username as it is compared: two that people cannot tell apart by case, width, composition, invisible characters or
 * letters of another script that look alike have one skeleton.
 */
export function skeletonOf(username: string): string {
  // The Turkish İ becomes an i with a dot above it, which looks like an i.
  const folded = username
    .normalize('NFKC')
    .replace(invisible, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
  return withLatinTwins(folded.normalize('NFKC').trim())
}

/** A username as it is stored. Refuses what cannot be typed or read aloud: spaces, invisible characters, mixed scripts. */
export function usernameOf(given: string): string {
  const username = given.normalize('NFC')
  if (/[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/u.test(username) || username.search(invisible) >= 0)
    throw problems.refused('/username', 'A username has no spaces and no invisible characters.')
  if (hasUnusedScript(username) || !isOneScript(username.normalize('NFKC')))
    throw problems.refused('/username', 'A username is written in one script: this one mixes letters of several.')
  return username
}
