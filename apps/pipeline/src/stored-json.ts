/**
 * Returns the JSON of a value with texts that jsonb can store: it replaces unpaired surrogates, and NUL characters by `nul`. The texts
 * are changed before they become JSON, because there the characters `\u0000` can also be a backslash and six others.
 */
export const toStoredJson = (value: unknown, { nul = '' }: { nul?: string } = {}): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', nul).toWellFormed() : part,
  )
