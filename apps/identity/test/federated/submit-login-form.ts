/**
 * Opens a URL, submits the login form with the given fields, and follows redirects with their cookies. Returns the
 * first URL that starts with `home`.
 */
export async function loginByForm(start: string, fields: Record<string, string>, home: string): Promise<string> {
  const jar = new Map<string, string>()
  let request: { url: string; body?: URLSearchParams } = { url: start }
  let sent = false
  for (let hops = 0; hops < 10; hops++) {
    const { url, body } = request
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body && { method: 'POST', body }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name && value !== undefined) jar.set(name, value)
    }
    const location = answer.headers.get('location')
    const next = location ? new URL(location, url).href : undefined
    if (next?.startsWith(home)) return next
    const page = await answer.text()
    if (!next && sent) throw new Error(`The form was sent, and no redirect came back: ${page.slice(0, 2000)}`)
    request = next ? { url: next } : { url, body: formOf(page, fields) }
    sent ||= !next
  }
  throw new Error('More than ten redirects.')
}

/** The hidden fields of the form on a page, and the typed ones. */
function formOf(page: string, typed: Record<string, string>): URLSearchParams {
  const hidden = [...page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]): [string, string] => [
    /name="([^"]*)"/.exec(input)?.[1] ?? '',
    /value="([^"]*)"/.exec(input)?.[1] ?? '',
  ])
  return new URLSearchParams([...hidden, ...Object.entries(typed)])
}
