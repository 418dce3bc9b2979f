import type { RequestHandler } from 'express'
import { problems } from '@sluice/http'
import { pagePolicy } from '../pages/page-policy.ts'

/** Milliseconds for a form to arrive: nobody needs a token to send one. */
const deadline = 30_000

/**
 * Makes a request look as it does at our public address. oidc-provider writes addresses into its answers from Host and
 * X-Forwarded headers; whatever a peer says there, or by which name another service calls us, it must be the one.
 */
export function asPublished(publicUrl: string): RequestHandler {
  const { host, protocol } = new URL(publicUrl)
  return (request, response, next) => {
    if (/%00|\0/.test(request.url)) throw problems.unreadableBody('The address holds a NUL character.')
    delete request.headers['x-forwarded-host']
    request.headers.host = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    // To `script-src`, oidc-provider adds the hash of the one script that it has where a form is to send itself.
    response.set('Content-Security-Policy', `${pagePolicy()}; script-src 'self'`)
    if (request.method === 'POST') {
      const timer = setTimeout(() => request.socket.destroy(), deadline).unref()
      request.once('end', () => clearTimeout(timer))
      response.once('close', () => clearTimeout(timer))
    }
    next()
  }
}
