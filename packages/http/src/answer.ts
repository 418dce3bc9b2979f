/** What a handler may answer besides a plain body: the same body with headers. */
export class Answer<T> {
  readonly body: T
  readonly headers: Record<string, string>

  constructor(body: T, headers: Record<string, string> = {}) {
    this.body = body
    this.headers = headers
  }
}

/** An HTML page with status 200. A handler returns it if its signature has `hasHtmlPage` and `prefersPage` holds for the request. */
export class Page {
  readonly html: string
  readonly headers: Record<string, string>

  constructor(html: string, headers: Record<string, string>) {
    this.html = html
    this.headers = headers
  }
}

/** What a handler answers where a browser is to go on elsewhere: 302, without a body. */
export class Redirect {
  readonly headers: Record<string, string>

  constructor(location: string | URL, headers: Record<string, string> = {}) {
    this.headers = { ...headers, Location: String(location) }
  }
}

/** A problem that a page tells instead of this answer. As after one that is thrown, nothing has to be written. */
export class RefusedElsewhere extends Redirect {}

/** A strong validator of an object's version, as If-Match takes it. */
export const etagOf = (version: number): string => `"${version}"`

/** The version that an If-Match header names; undefined without one or with `*`, NaN for one that is not ours. */
export function parseIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const [, version] = /^\s*"(\d+)"\s*$/.exec(header) ?? []
  return version === undefined ? Number.NaN : Number(version)
}
