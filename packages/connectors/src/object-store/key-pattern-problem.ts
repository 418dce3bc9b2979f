/**
 * Describes the error in a pattern of object keys; undefined for a valid pattern. `*` and `?` match within one folder, `**` matches
 * any number of folders, `[a-z]` one character, `{a,b}` either alternative; a backslash escapes the next character.
 */
export function findKeyPatternProblem(pattern: string): string | undefined {
  let braces = false
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern[at]!
    if (sign === '\\') {
      if (++at === pattern.length) return 'A backslash stands before a sign: nothing follows this one.'
    } else if (sign === '[') {
      const end = pattern.indexOf(']', at + 2)
      if (end < 0) return 'The bracket [ is not closed, or is empty. Write \\[ for the sign itself.'
      at = end
    } else if (sign === '{') {
      if (braces) return 'Braces stand in braces: write the alternatives out.'
      braces = true
    } else if (sign === '}') {
      if (!braces) return 'The brace } closes nothing. Write \\} for the sign itself.'
      braces = false
    } else if (pattern.startsWith('**', at)) {
      const alone = (at === 0 || pattern[at - 1] === '/') && /^($|\/)/.test(pattern.slice(at + 2))
      if (!alone) return 'The sign ** is for whole folders: write it between slashes, as in data/**/cases.csv.'
      at++
    }
  }
  return braces ? 'The brace { is not closed. Write \\{ for the sign itself.' : undefined
}
