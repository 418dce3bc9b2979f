/** A text of a server as one line of 500 characters at most, without what is secret. Servers like to say back what they were sent. */
export function wordsWithout(secrets: readonly string[]): (text: string) => string {
  const spellings = [...new Set(secrets.filter((secret) => secret.length > 2).flatMap(spellingsOf))]
  spellings.sort((one, other) => other.length - one.length)
  return (text) =>
    spellings
      .reduce((words, spelling) => words.replaceAll(spelling, '[redacted]'), text)
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .trim()
      .slice(0, 500)
}

const spellingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ a: secret }).toString().slice(2),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64'),
]
