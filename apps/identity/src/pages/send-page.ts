import type { Response } from 'express'

interface SendablePage {
  /** The origins to which a form's response may redirect: see `buildPageHeaders`. */
  formAction?: readonly string[]
}

/** Sends a page with the headers of `buildPageHeaders`. */
export function sendPage(response: Response, status: number, page: string, { formAction }: SendablePage = {}): void {
  response.status(status).set(buildPageHeaders(formAction)).type('html').send(page)
}

/**
 * Returns the headers of every page. They allow only resources that the pages use, prevent caching, and send no
 * referrer. `formAction` lists origins, or schemes such as `app:`, to which a form's response may redirect, because
 * browsers apply the policy to redirects too.
 */
export const buildPageHeaders = (formAction: readonly string[] = []): Record<string, string> => ({
  'Content-Security-Policy': buildPagePolicy(formAction),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  Vary: 'Accept-Language',
})

/**
 * Returns the value of the Content-Security-Policy header. `formAction` lists further origins to which forms may lead.
 */
export function buildPagePolicy(formAction: readonly string[] = []): string {
  const targets = ["'self'", ...formAction.filter(isOriginOrScheme)].join(' ')
  return `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`
}

/** Returns whether the text is only an origin or a scheme. Anything else could add directives to the policy. */
const isOriginOrScheme = (text: string): boolean => /^([a-z][a-z0-9+.-]*:|https?:\/\/[a-z0-9.[\]:-]+)$/i.test(text)
