import type { Response } from 'express'

interface Sending {
  /** Origins, or schemes such as `app:`, to which a form's answer may lead on: browsers check redirects too. */
  formAction?: readonly string[]
}

/** Sends a page with nothing allowed that our pages do not do, to be kept nowhere and named to nobody. */
export function sendPage(response: Response, status: number, page: string, { formAction = [] }: Sending = {}): void {
  const targets = ["'self'", ...formAction.filter(isSource)].join(' ')
  response
    .status(status)
    .set({
      'Content-Security-Policy': `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      Vary: 'Accept-Language',
    })
    .type('html')
    .send(page)
}

/** An origin or a scheme and nothing more, so that no registered address adds to the policy. */
const isSource = (text: string): boolean => /^([a-z][a-z0-9+.-]*:|https?:\/\/[a-z0-9.[\]:-]+)$/i.test(text)
