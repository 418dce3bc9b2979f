import type { Context, Next } from 'koa'
import type { Provider } from 'oidc-provider'
import { isUnavailable } from '@sluice/database'
import { problems } from '@sluice/http'

const code = 'temporarily_unavailable'
const text = 'a part of this service is down or busy: try again soon'

/**
 * Answers 503 with the code that OAuth has for it where oidc-provider says that it failed, and all that it was is that the
 * database could not be asked.
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

/** Sees to what oidc-provider leaves open: where it is mounted, and what it has no answer to. */
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
 * Leaves the query as the one way back to an application. The others that oidc-provider has would answer its own page with
 * a script in it (form_post), or are for flows that end with tokens in the address (fragment).
 */
export function allowOnlyQueryResponseMode(provider: Provider): void {
  provider.use(async (ctx: Context, next: Next) => {
    const { response_mode: mode } = ctx.query
    // oidc-provider knows none by this name, says so to the application, and answers by query.
    if (mode !== undefined && mode !== 'query') ctx.query = { ...ctx.query, response_mode: 'unsupported' }
    await next()
    if (isDiscovery(ctx.body)) ctx.body = { ...ctx.body, response_modes_supported: ['query'] }
  })
}

const isDiscovery = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && 'response_modes_supported' in body
