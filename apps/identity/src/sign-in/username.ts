import { problems } from '@sluice/http'
import { withLatinTwins } from './look-alikes.ts'
import { hasUnusedScript, isOneScript } from './scripts.ts'

/** Characters that are not seen, or that change how their neighbours are seen. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/**
 * Letters that only linguists write, whole blocks of small capitals and of phonetics among them, and symbols that no keyboard
 * has. What is left of Latin is about what UAX 31 recommends for identifiers.
 */
const technical =
  /[\u01c0-\u01c3\u0262\u026a\u0274\u0276\u0280\u0281\u028f\u0299\u029b\u029c\u029f\u1d00-\u1dbf\ua720-\ua78a\ua78d-\ua7ff\uab30-\uab6f\u{10780}-\u{107bf}\u{1df00}-\u{1dfff}]|(?![\0-\x7f])\p{S}/u

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
  if (technical.test(username))
    throw problems.refused('/username', 'A username has no phonetic letters, and of symbols those of a keyboard only.')
  if (hasUnusedScript(username) || !isOneScript(username.normalize('NFKC')))
    throw problems.refused('/username', 'A username is written in one script: this one mixes letters of several.')
  return username
}
