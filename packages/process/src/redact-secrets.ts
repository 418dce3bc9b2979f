/**
 * Returns a function that removes secrets from a server's text, because servers repeat what they receive, and shortens
 * it to one line of at most 500 characters. It replaces only whole words: if it replaced a part of a known word, the
 * rest would reveal the secret.
 */
export function secretRedactor(secrets: readonly string[]): (text: string) => string {
  const longEnough = secrets.filter((secret) => secret.length > 2)
  const encodedForms = [...new Set(longEnough.flatMap(listEncodedForms))]
  // Replaces longer texts first, because a secret can contain another one.
  const longestFirst = encodedForms.toSorted((one, other) => other.length - one.length)
  const pattern = longestFirst.length > 0 ? new RegExp(longestFirst.map(wholeWords).join('|'), 'gu') : undefined
  return (text) => {
    const redactedText = pattern ? text.replace(pattern, '[redacted]') : text
    return redactedText
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .trim()
      .slice(0, 500)
  }
}

/** Returns a regular expression for a text that matches only if the adjacent characters are not word characters. */
export function wholeWords(text: string): string {
  const isWord = (sign: string | undefined) => sign !== undefined && /[\p{L}\p{N}_]/u.test(sign)
  const [first, last] = [[...text][0], [...text].at(-1)]
  return `${isWord(first) ? '(?<![\\p{L}\\p{N}_])' : ''}${RegExp.escape(text)}${isWord(last) ? '(?![\\p{L}\\p{N}_])' : ''}`
}

/** Returns a secret as it is and as it occurs in URLs, forms, JSON and the Authorization header. */
const listEncodedForms = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ a: secret }).toString().slice(2),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64'),
]

/**
 * Returns the name and message of an error's cause without the `secrets`, or an empty object if the error has no cause.
 */
export function causeOf({ cause }: Error, secrets: readonly string[]): { cause?: string } {
  return cause instanceof Error ? { cause: secretRedactor(secrets)(`${cause.name}: ${cause.message}`) } : {}
}
