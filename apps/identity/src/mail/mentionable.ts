const words = /^[\p{L}\p{M}\p{N} '’,_()&+-]+$/u
/** Dots that end an abbreviation are fine; within a word they make what mail programs take for a web address. */
const innocentDots = /\.(?= |$)/gu
const address = /^[\w.+-]{1,64}@[A-Za-z0-9.-]{1,190}$/

/**
 * A name that somebody typed, as far as it may stand in a mail that we send: at most 80 characters, on one line, and
 * nothing that a mail program makes a link of, so that nobody can write to others in our name. A bare mail address will
 * do. Undefined for the rest: the mail then does without.
 */
export function mentionable(name: string): string | undefined {
  const plain = name.normalize('NFC').trim().replace(/ +/g, ' ')
  const harmless = words.test(plain.replace(innocentDots, '')) || address.test(plain)
  return harmless && [...plain].length <= 80 ? plain : undefined
}
