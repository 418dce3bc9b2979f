import type { Context, Next } from 'koa'
import type { Provider } from 'oidc-provider'
import { isUnavailable } from '@sluice/database'
import { problems } from '@sluice/http-server'

const code = 'temporarily_unavailable'
const text = 'a component of this service is unavailable: try again soon'

/**
 * Replaces a server error of oidc-provider by 503 with the OAuth code for it, if the only cause is that the database was unavailable.
 */
export function answerTemporarilyUnavailable(provider: Provider): void {
  const down = new WeakSet<object>()
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error)) down.add(ctx)
  })
  provider.use(async (ctx: Context, next: Next) => {
    await next()
    if (!down.has(ctx)) return
    const location = ctx.response.get('Location')
    if (location) return ctx.set('Location', withUnavailableError(location))
    ctx.status = 503
    ctx.set('Retry-After', '5')
    if (isAnswer(ctx.body)) ctx.body = { ...ctx.body, error: code, error_description: text }
  })
}

const isAnswer = (body: unknown): body is { error: string } =>
  typeof body === 'object' && body !== null && 'error' in body && body.error === 'server_error'

/** Replaces `server_error` in a redirect to the application too. */
function withUnavailableError(location: string): string {
  const url = new URL(location)
  if (url.searchParams.get('error') !== 'server_error') return location
  url.searchParams.set('error', code)
  url.searchParams.set('error_description', text)
  return url.href
}

/** Sets the mount path of oidc-provider, and answers paths that it does not know. */
export const answerUnknownPaths = (base: string) =>
  async function answer(ctx: Context, next: Next): Promise<void> {
    ctx['mountPath'] = base
    await next()
    if (ctx.status !== 404 || ctx.body) return
    const requestId = ctx.response.get('x-request-id')
    ctx.body = JSON.stringify(problems.notFound('address').document(ctx.path.slice(0, 2000), requestId))
    ctx.status = 404
    ctx.type = 'application/problem+json'
  }

/**
 * Allows only the response mode `query`. The other modes of oidc-provider respond with a page of its own that has a script
 * (form_post), or are for flows with tokens in the address (fragment).
 */
export function allowOnlyQueryResponseMode(provider: Provider): void {
  provider.use(async (ctx: Context, next: Next) => {
    const { response_mode: mode } = ctx.query
    // oidc-provider does not know this mode, so it returns an error to the application by query.
    if (mode !== undefined && mode !== 'query') ctx.query = { ...ctx.query, response_mode: 'unsupported' }
    await next()
    if (isDiscovery(ctx.body)) ctx.body = { ...ctx.body, response_modes_supported: ['query'] }
  })
}

const isDiscovery = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && 'response_modes_supported' in body
