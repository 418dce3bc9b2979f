import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

interface Cookie {
  name: string
  value: string
  path: string
}

export interface Page {
  status: number
  /** The address of the page. For another site, it is the target of a redirect, and was not requested. */
  url: URL
  html: string
  headers: Headers
}

const decoded = (text: string) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

const attribute = (tag: string, name: string): string | undefined => {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? []
  return value === undefined ? undefined : decoded(value)
}

interface Question {
  method?: string
  body?: URLSearchParams
  headers?: Record<string, string>
}

/** Sends a request without `fetch`, which sets `Sec-Fetch-Mode` as a script does. */
async function exchange(
  url: string,
  { method, body, headers }: { method: string; body: string; headers: Record<string, string> },
): Promise<Omit<Page, 'url'>> {
  const sent = request(url, {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent: false,
  })
  sent.on('error', () => {})
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values]) =>
    (values ?? []).map((value): [string, string] => [name, value]),
  )
  return { status: answer.statusCode ?? 0, headers: new Headers(pairs), html: await text(answer) }
}

/** A minimal browser with cookies, redirects and forms. It sends requests for the `published` origin to `actual`. */
export class Browser {
  readonly cookies: Cookie[] = []
  readonly published: string
  readonly actual: string

  constructor({ published, actual }: { published: string; actual: string }) {
    this.published = published
    this.actual = actual
  }

  open(url: string | URL): Promise<Page> {
    return this.ask(new URL(url, this.published), {})
  }

  /** Submits the first form of a page, or the form with this action, with its hidden fields and the given fields. */
  submit(page: Page, fields: Record<string, string>, action?: string): Promise<Page> {
    const forms = page.html.match(/<form[\s\S]*?<\/form>/g) ?? []
    const form = forms.find((text) => action === undefined || attribute(text, 'action')?.endsWith(action))
    if (!form) throw new Error(`no form on ${page.url.href}: ${page.status} ${page.html.slice(0, 1500)}`)
    const hidden = (form.match(/<input[^>]*type="hidden"[^>]*>/g) ?? []).map((tag) => [
      attribute(tag, 'name')!,
      attribute(tag, 'value') ?? '',
    ])
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
    return this.ask(new URL(attribute(form, 'action')!, page.url), {
      method: 'POST',
      body,
      headers: { origin: 'null' },
    })
  }

  async ask(url: URL, { method = 'GET', body, headers = {} }: Question): Promise<Page> {
    if (url.origin !== new URL(this.published).origin) return { status: 0, url, html: '', headers: new Headers() }
    const path = url.pathname
    const cookie = this.cookies
      .filter((known) => path === known.path || path.startsWith(known.path.replace(/\/?$/, '/')))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ')
    const answer = await exchange(url.href.replace(this.published, this.actual), {
      method,
      body: body?.toString() ?? '',
      headers: {
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        ...(body && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(cookie && { cookie }),
        ...headers,
      },
    })
    for (const line of answer.headers.getSetCookie()) this.keep(line)
    const location = answer.headers.get('location')
    if (answer.status >= 300 && answer.status < 400 && location) return this.ask(new URL(location, url), {})
    return { ...answer, url }
  }

  private keep(line: string): void {
    const [pair = '', ...rest] = line.split(/;\s*/)
    const [name = '', ...value] = pair.split('=')
    const about = new Map(rest.map((part) => [part.split('=')[0]!.toLowerCase(), part.split('=').slice(1).join('=')]))
    const cookie = { name, value: value.join('='), path: about.get('path') ?? '/' }
    const at = this.cookies.findIndex((known) => known.name === name && known.path === cookie.path)
    if (at >= 0) this.cookies.splice(at, 1)
    const expires = about.get('expires')
    if (about.get('max-age') !== '0' && !(expires && Date.parse(expires) < Date.now())) this.cookies.push(cookie)
  }
}
