/**
 * Whether PostgreSQL takes a text as JSONB: what JSON.parse takes, without NUL, half a surrogate pair or a power of ten that
 * no numeric reaches.
 */
export function parsesAsJsonb(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    if (/\de\+?\d{6,}/i.test(text)) return false
    // What is well-formed needs no escape, so that only halves are left of those that were there.
    return !text.includes('\\u') || !/\\ud[89a-f]|\\u0000/i.test(JSON.stringify(value).replaceAll('\\\\', ''))
  } catch {
    return false
  }
}
