/**
 * Returns the JSON of a value in a form that jsonb can store: replaces unpaired surrogates, and NUL characters by
 * `nul`. Replaces them before the conversion, because in JSON the text `\u0000` can also stand for a backslash followed
 * by `u0000`.
 */
export const toStoredJson = (value: unknown, { nul = '' }: { nul?: string } = {}): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? part.replaceAll('\0', nul).toWellFormed() : part,
  )
