/** Returns the raw value of a cookie in a Cookie header; undefined if the cookie is missing. */
export function findCookie(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(start))
    ?.slice(start.length)
}
