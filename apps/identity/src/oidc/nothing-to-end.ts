import type { Context, Next } from 'koa'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { withState } from './provider-pages.ts'

/**
 * Whoever is not signed in has nothing to confirm: they go on at once, where oidc-provider would send a form that submits
 * itself by a script. Where an application may have them sent was looked at by then.
 */
export async function nothingToEnd(ctx: Context, next: Next): Promise<void> {
  await next()
  const { oidc } = ctx as unknown as Partial<KoaContextWithOIDC>
  if (oidc?.route !== 'end_session' || ctx.status !== 200 || !oidc.session || oidc.session.accountId) return
  const { post_logout_redirect_uri: back, state } = oidc.params ?? {}
  ctx.remove('content-security-policy')
  ctx.redirect(typeof back === 'string' ? withState(back, state) : oidc.urlFor('end_session_success'))
  ctx.status = 303
}
