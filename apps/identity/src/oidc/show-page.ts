import type { KoaContextWithOIDC } from 'oidc-provider'
import { pageHeaders } from '../pages/page-policy.ts'

/**
 * Shows a page of ours where oidc-provider answers: as `sendPage` does, but through its context, because cookies follow.
 * `formAction`: the origins that a form's answer may lead on to.
 */
export function showPage(ctx: KoaContextWithOIDC, page: string, formAction: readonly string[] = []): void {
  ctx.set(pageHeaders(formAction))
  ctx.type = 'html'
  ctx.body = page
}
