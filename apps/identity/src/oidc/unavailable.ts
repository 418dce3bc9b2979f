import type { Context, Next } from 'koa'
import type { Provider } from 'oidc-provider'
import { isUnavailable } from '@sluice/database'

const code = 'temporarily_unavailable'
const text = 'a part of this service is down or busy: try again soon'

/**
 * Answers 503 with the code that OAuth has for it where oidc-provider says that it failed, and all that it was is that the
 * database could not be asked.
 */
export function answerUnavailable(provider: Provider): void {
  const down = new WeakSet<object>()
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error)) down.add(ctx)
  })
  provider.use(async (ctx: Context, next: Next) => {
    await next()
    if (!down.has(ctx)) return
    const location = ctx.response.get('Location')
    if (location) return ctx.set('Location', ledBack(location))
    ctx.status = 503
    ctx.set('Retry-After', '5')
    if (isAnswer(ctx.body)) ctx.body = { ...ctx.body, error: code, error_description: text }
  })
}

const isAnswer = (body: unknown): body is { error: string } =>
  typeof body === 'object' && body !== null && 'error' in body && body.error === 'server_error'

/** Where the application is told, it is told the same. */
function ledBack(location: string): string {
  const url = new URL(location)
  if (url.searchParams.get('error') !== 'server_error') return location
  url.searchParams.set('error', code)
  url.searchParams.set('error_description', text)
  return url.href
}
