import type { Context, Next } from 'koa'
import { problems } from '@sluice/http'

/** Sees to what oidc-provider leaves open: where it is mounted, and what it has no answer to. */
export const unknownAddresses = (base: string) =>
  async function answer(ctx: Context, next: Next): Promise<void> {
    ctx['mountPath'] = base
    await next()
    if (ctx.status !== 404 || ctx.body) return
    const requestId = ctx.response.get('x-request-id')
    ctx.body = JSON.stringify(problems.notFound('address').document(ctx.path.slice(0, 2000), requestId))
    ctx.status = 404
    ctx.type = 'application/problem+json'
  }
