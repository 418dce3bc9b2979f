/** A response body with headers. A handler returns it instead of a body alone. */
export class JsonResponse<T> {
  readonly body: T
  readonly headers: Record<string, string>

  constructor(body: T, headers: Record<string, string> = {}) {
    this.body = body
    this.headers = headers
  }
}

/**
 * An HTML page with status 200. A handler may return it if its signature has `hasHtmlPage` and `prefersPage` is true
 * for the request.
 */
export class HtmlPage {
  readonly html: string
  readonly headers: Record<string, string>

  constructor(html: string, headers: Record<string, string>) {
    this.html = html
    this.headers = headers
  }
}

/** A 302 response without a body. A handler returns it to redirect the browser. */
export class RedirectResponse {
  readonly headers: Record<string, string>

  constructor(location: string | URL, headers: Record<string, string> = {}) {
    this.headers = { ...headers, Location: String(location) }
  }
}

/** A redirect to a page that shows a problem. A write operation may return it without having written anything. */
export class ProblemPageRedirect extends RedirectResponse {}

/** Returns the ETag for an object's version, in the format of If-Match. */
export const etagOf = (version: number): string => `"${version}"`

/**
 * Parses the version in an If-Match header. Returns undefined if the header is absent or `*`, and NaN for an ETag that
 * this service never issues.
 */
export function parseIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const [, version] = /^\s*"(\d+)"\s*$/.exec(header) ?? []
  return version === undefined ? Number.NaN : Number(version)
}
