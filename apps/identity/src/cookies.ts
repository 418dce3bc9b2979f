/** The value of a cookie in a Cookie header, as it was sent. Undefined: the browser brings none of that name. */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(start))
    ?.slice(start.length)
}
