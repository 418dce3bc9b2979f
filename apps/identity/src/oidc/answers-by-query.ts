import type { Context, Next } from 'koa'
import type { Provider } from 'oidc-provider'

/**
 * Leaves the query as the one way back to an application. The others that oidc-provider has would answer its own page with
 * a script in it (form_post), or are for flows that end with tokens in the address (fragment).
 */
export function answerByQuery(provider: Provider): void {
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
