import type { KoaContextWithOIDC } from 'oidc-provider'

/**
 * Shows a page of ours where oidc-provider answers: as `sendPage` does, but through its context, because cookies follow.
 * `formAction`: the origin that a form's answer may lead on to.
 */
export function showPage(ctx: KoaContextWithOIDC, page: string, formAction = ''): void {
  ctx.set({
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self' ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    Vary: 'Accept-Language',
  })
  ctx.type = 'html'
  ctx.body = page
}
