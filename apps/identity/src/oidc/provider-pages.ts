import type { Request } from 'express'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { html } from '../pages/html.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { messagePage } from '../pages/message-page.ts'
import { signOutPage, signedOutPage } from '../pages/sign-out-pages.ts'
import { publicAddress } from '../public-address.ts'
import type { ExtraMetadata } from './clients.ts'
import { refusalIn } from './refusals.ts'
import { pageHeaders } from '../pages/send-page.ts'

/** Returns the language and, if the application is known, the organisation of a page. */
function factsOf({ req, oidc }: KoaContextWithOIDC) {
  const name = (oidc.client as unknown as ExtraMetadata | undefined)?.organisation
  const { prefix } = publicAddress(oidc.provider.issuer)
  return { prefix, language: languageOf(req as Request), ...(name && { organisation: { name } }) }
}

/** Shows the error page for a request that cannot be redirected back to the application. */
export async function renderError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  const facts = factsOf(ctx)
  const texts = textsIn(facts.language)
  const technical = [out.error, out.error_description].filter(Boolean).join(': ')
  const note = html`${texts.application.forDevelopers} <code>${technical}</code>`
  showPage(ctx, messagePage({ ...facts, ...refusalIn(texts, out.error), note, status: 'problem' }))
}

/** Shows the confirmation of a sign-out. Skips the confirmation if the application sends an ID token of this user. */
export async function logoutSource(ctx: KoaContextWithOIDC): Promise<void> {
  const { session, client, entities, provider, params = {} } = ctx.oidc
  const back = params['post_logout_redirect_uri'] as string | undefined
  const hint = entities.IdTokenHint?.payload as { sub?: string } | undefined
  if (session?.accountId && hint?.sub === session.accountId) {
    await session.destroy()
    ctx.cookies.set(provider.cookieName('session'), null)
    ctx.redirect(back === undefined ? ctx.oidc.urlFor('end_session_success') : withState(back, params['state']))
    ctx.status = 303
    return
  }
  const page = signOutPage({
    ...factsOf(ctx),
    action: new URL(ctx.oidc.urlFor('end_session_confirm')).pathname,
    hidden: { xsrf: String(session?.state?.['secret']) },
    ...(client?.clientName && { application: client.clientName }),
  })
  showPage(ctx, page, back === undefined ? [] : [new URL(back).origin])
}

/** Returns the application's redirect URI with the `state` that the application sent. */
export function withState(uri: string, state: unknown): string {
  const url = new URL(uri)
  if (typeof state === 'string') url.searchParams.set('state', state)
  return url.href
}

export async function postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
  const { client } = ctx.oidc
  const [uri] = client?.redirectUris ?? []
  const application = client?.clientName && uri ? { name: client.clientName, href: new URL(uri).origin } : undefined
  showPage(ctx, signedOutPage({ ...factsOf(ctx), ...(application && { application }) }))
}

/**
 * Sends a page like `sendPage`, but through the context of oidc-provider, which adds cookies afterwards. `formAction`: the
 * origins that a form's response may redirect to.
 */
function showPage(ctx: KoaContextWithOIDC, page: string, formAction: readonly string[] = []): void {
  ctx.set(pageHeaders(formAction))
  ctx.type = 'html'
  ctx.body = page
}
