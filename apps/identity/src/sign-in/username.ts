import { problems } from '@sluice/http'

/** Characters that are not seen, or that change how their neighbours are seen. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/gu

/**
 * A username as it is compared: two that people cannot tell apart by case, width, composition or invisible characters
 * have one skeleton. Look-alikes of different scripts are still told apart.
 */
export function skeletonOf(username: string): string {
  const folded = username.normalize('NFKC').replace(invisible, '').toUpperCase().toLowerCase()
  return folded.normalize('NFKC').trim()
}

/** A username as it is stored. Refuses what cannot be typed or read aloud: spaces, control and invisible characters. */
export function usernameOf(given: string): string {
  const username = given.normalize('NFC')
  if (/[\s\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}]/u.test(username) || username.search(invisible) >= 0)
    throw problems.refused('/username', 'A username has no spaces and no invisible characters.')
  return username
}
