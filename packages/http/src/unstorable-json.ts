/** Does JSON text hold a NUL character, as it is or escaped? PostgreSQL can store neither. Looked at before it is parsed. */
export function holdsNul(json: Buffer): boolean {
  if (json.includes(0)) return true
  // The backslash may itself be escaped: then it is text about NUL.
  return json.includes(String.raw`\u0000`) && /(?<!\\)(?:\\\\)*\\u0000/.test(json.toString('latin1'))
}

const escapes = /\\(?:u([\da-f]{4})|.)/gi

/**
 * Does JSON text, which is valid UTF-8, hold half a surrogate pair? Only an escape can; PostgreSQL can store none. Looked at
 * before it is parsed, because to look at every value afterwards takes a hundred times as long.
 */
export function holdsHalfPair(json: Buffer): boolean {
  if (!json.includes(String.raw`\ud`) && !json.includes(String.raw`\uD`)) return false
  const text = json.toString('latin1')
  /** Where a high half ends, which a low one has to follow at once; -1: none. */
  let open = -1
  for (const { 0: all, 1: unit, index } of text.matchAll(escapes)) {
    const value = unit === undefined ? 0 : Number.parseInt(unit, 16)
    const low = value >= 0xdc00 && value <= 0xdfff
    if (open >= 0 ? !low || index !== open : low) return true
    open = value >= 0xd800 && value < 0xdc00 ? index + all.length : -1
  }
  return open >= 0
}
