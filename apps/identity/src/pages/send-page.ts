import type { Response } from 'express'

interface SendablePage {
  /** As `pageHeaders` takes it. */
  formAction?: readonly string[]
}

/** Sends a page of ours, with the headers of all of them. */
export function sendPage(response: Response, status: number, page: string, { formAction }: SendablePage = {}): void {
  response.status(status).set(pageHeaders(formAction)).type('html').send(page)
}

/**
 * The headers of every page of ours: nothing is allowed that our pages do not do, and they are kept nowhere and named to
 * nobody. `formAction`: origins, or schemes such as `app:`, to which a form's answer may lead on, for browsers check
 * redirects too.
 */
export const pageHeaders = (formAction: readonly string[] = []): Record<string, string> => ({
  'Content-Security-Policy': pagePolicy(formAction),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  Vary: 'Accept-Language',
})

/** The Content-Security-Policy of `pageHeaders`. */
export function pagePolicy(formAction: readonly string[] = []): string {
  const targets = ["'self'", ...formAction.filter(isSource)].join(' ')
  return `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`
}

/** An origin or a scheme and nothing more, so that no registered address adds to the policy. */
const isSource = (text: string): boolean => /^([a-z][a-z0-9+.-]*:|https?:\/\/[a-z0-9.[\]:-]+)$/i.test(text)
