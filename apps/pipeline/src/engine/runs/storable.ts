/** Text as PostgreSQL can keep it: no NUL, no halves of surrogate pairs, at most so many characters. */
export function storable(text: string, longest: number): string {
  const whole = text.replaceAll('\0', '␀').toWellFormed()
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).toWellFormed()}…`
}
