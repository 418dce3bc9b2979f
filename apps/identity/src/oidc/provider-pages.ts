import type { Request } from 'express'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { html } from '../pages/html.ts'
import { languageOf } from '../pages/language.ts'
import { messagePage } from '../pages/message-page.ts'
import { signedOutPage, signOutPage } from '../pages/sign-out-pages.ts'
import type { ExtraMetadata } from './clients.ts'
import { showPage } from './show-page.ts'
import { words } from './words.ts'

const languageIn = (ctx: KoaContextWithOIDC): string => languageOf(ctx.req as Request)

/** In whose name a page is: the application's client, once that is known. */
function organisationOf({ oidc }: KoaContextWithOIDC) {
  const name = (oidc.client as unknown as ExtraMetadata | undefined)?.organisation
  return name ? { organisation: { name } } : {}
}

/** A request that cannot be answered, or whose answer nobody may be sent. */
export async function renderError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  const { title, text } = words.errors[out.error] ?? words.otherError
  const technical = [out.error, out.error_description].filter(Boolean).join(': ')
  const note = html`${words.forDevelopers} <code>${technical}</code>`
  const facts = { language: languageIn(ctx), ...organisationOf(ctx) }
  showPage(ctx, messagePage({ ...facts, title, text, note, status: 'problem' }))
}

/**
 * Asks whether to sign out, unless the application shows by an ID token of this very user that it may ask for that: then
 * there is nothing to confirm.
 */
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
    language: languageIn(ctx),
    ...organisationOf(ctx),
    action: new URL(ctx.oidc.urlFor('end_session_confirm')).pathname,
    hidden: { xsrf: String(session?.state?.['secret']) },
    ...(client?.clientName && { application: client.clientName }),
  })
  showPage(ctx, page, back && new URL(back).origin)
}

function withState(uri: string, state: unknown): string {
  const url = new URL(uri)
  if (typeof state === 'string') url.searchParams.set('state', state)
  return url.href
}

export async function postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
  const { client } = ctx.oidc
  const [uri] = client?.redirectUris ?? []
  const application = client?.clientName && uri ? { name: client.clientName, href: new URL(uri).origin } : undefined
  showPage(
    ctx,
    signedOutPage({ language: languageIn(ctx), ...organisationOf(ctx), ...(application && { application }) }),
  )
}
