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
