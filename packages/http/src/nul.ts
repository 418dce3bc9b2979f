/** Does JSON text hold a NUL character, as it is or escaped? PostgreSQL can store neither. Looked at before it is parsed. */
export function holdsNul(json: Buffer): boolean {
  if (json.includes(0)) return true
  // The backslash may itself be escaped: then it is text about NUL.
  return json.includes(String.raw`\u0000`) && /(?<!\\)(?:\\\\)*\\u0000/.test(json.toString('latin1'))
}
