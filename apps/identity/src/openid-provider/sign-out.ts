import type { Request } from 'express'
import { type Kysely, sql } from 'kysely'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { recordAudit, transaction } from '@sluice/database'
import type { DB } from '../database.ts'
import { endSession } from '../sign-in/sessions/sessions.ts'
import type { Context, Next } from 'koa'
import { renderSignOutPage, renderSignedOutPage } from '../pages/sign-out-pages.ts'
import { describePage, sendProviderPage } from './provider-pages.ts'

/** Ends the sign-in session that belongs to the browser session, and thus the user's sign-in at every application. */
export function endSignedInSession(
  db: Kysely<DB>,
  session: string,
  ctx: KoaContextWithOIDC | undefined,
): Promise<void> {
  return transaction(db, async (trx) => {
    const { rows } = await sql<{ user: string; client: string }>`
      select users.uid as user, sessions.client from sessions join users on users.id = sessions.user_id
      where sessions.uid = ${session} and sessions.ended_at is null for update of sessions`.execute(trx)
    const [openSession] = rows
    if (!openSession) return
    await endSession(trx, session, 'SIGNED_OUT')
    await recordAudit(trx, {
      operation: 'oidc.signOut',
      actor: openSession.user,
      client: openSession.client,
      object: session,
      requestId: ctx?.response.get('x-request-id') ?? '',
      address: (ctx?.req as Request | undefined)?.ip ?? '',
      details: { application: ctx?.oidc.client?.clientId ?? null },
    })
  })
}

/**
 * Redirects a browser that is not signed in at once, because it has nothing to confirm; oidc-provider would instead
 * send a form that a script submits. The application's redirect URI is already validated.
 */
export async function skipLogoutPrompt(ctx: Context, next: Next): Promise<void> {
  await next()
  const { oidc } = ctx as unknown as Partial<KoaContextWithOIDC>
  if (oidc?.route !== 'end_session' || ctx.status !== 200 || !oidc.session || oidc.session.accountId) return
  const { post_logout_redirect_uri: redirectUri, state } = oidc.params ?? {}
  ctx.remove('content-security-policy')
  ctx.redirect(typeof redirectUri === 'string' ? addState(redirectUri, state) : oidc.urlFor('end_session_success'))
  ctx.status = 303
}

/**
 * Shows the page that asks the user to confirm the sign-out. If the application sent an ID token of this user, signs
 * out without a confirmation and redirects the browser. oidc-provider calls this function; the name is that of its
 * setting.
 */
export async function logoutSource(ctx: KoaContextWithOIDC): Promise<void> {
  const { session, client, entities, provider, params = {} } = ctx.oidc
  const redirectUri = params['post_logout_redirect_uri'] as string | undefined
  const hint = entities.IdTokenHint?.payload as { sub?: string } | undefined
  if (session?.accountId && hint?.sub === session.accountId) {
    await session.destroy()
    ctx.cookies.set(provider.cookieName('session'), null)
    const target =
      redirectUri === undefined ? ctx.oidc.urlFor('end_session_success') : addState(redirectUri, params['state'])
    ctx.redirect(target)
    ctx.status = 303
    return
  }
  const page = renderSignOutPage({
    ...describePage(ctx),
    action: new URL(ctx.oidc.urlFor('end_session_confirm')).pathname,
    hidden: { xsrf: String(session?.state?.['secret']) },
    ...(client?.clientName && { application: client.clientName }),
  })
  sendProviderPage(ctx, page, redirectUri === undefined ? [] : [new URL(redirectUri).origin])
}

/** Returns the application's redirect URI with the `state` parameter of its request. */
function addState(uri: string, state: unknown): string {
  const url = new URL(uri)
  if (typeof state === 'string') url.searchParams.set('state', state)
  return url.href
}

export async function postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
  const { client } = ctx.oidc
  // A native application (a program on the user's computer) has no web page to link to.
  const [uri] = client?.applicationType === 'native' ? [] : (client?.redirectUris ?? [])
  const application = client?.clientName && uri ? { name: client.clientName, href: new URL(uri).origin } : undefined
  sendProviderPage(ctx, renderSignedOutPage({ ...describePage(ctx), ...(application && { application }) }))
}
