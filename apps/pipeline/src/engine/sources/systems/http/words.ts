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

/** The keys under which systems say what is wrong. */
const keys = ['detail', 'message', 'error_description', 'description', 'title', 'error', 'reason', 'diagnostics']
  // Those of AWS.
  .concat('Message', 'errorMessage')

/** What an answer says for people, in the JSON of any of the systems or in plain text; undefined where it says nothing. */
export function saidIn(text: string): string | undefined {
  if (/^\s*</.test(text)) return undefined
  try {
    return sentenceIn(JSON.parse(text))
  } catch {
    return text.trim() || undefined
  }
}

function sentenceIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined
  if (typeof value !== 'object' || value === null || depth > 4) return undefined
  if (Array.isArray(value)) return sentenceIn(value[0], depth + 1)
  const fields = value as Record<string, unknown>
  for (const key of [...keys, 'issue', 'errors', 'details']) {
    const sentence = key in fields ? sentenceIn(fields[key], depth + 1) : undefined
    if (sentence) return sentence
  }
  return undefined
}
