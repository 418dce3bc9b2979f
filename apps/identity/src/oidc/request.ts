import type { RequestHandler } from 'express'
import { problems } from '@sluice/http'
import { formDeadline } from '../pages/form-deadline.ts'
import { pagePolicy } from '../pages/page-policy.ts'

/**
 * Makes a request look as it does at our public address. oidc-provider writes addresses into its answers from Host and
 * X-Forwarded headers; whatever a peer says there, or by which name another service calls us, it must be the one.
 */
export function asPublished(publicUrl: string): RequestHandler {
  const { host, protocol } = new URL(publicUrl)
  const inTime = formDeadline()
  return (request, response, next) => {
    if (/%00|\0/.test(request.url)) throw problems.unreadableBody('The address holds a NUL character.')
    delete request.headers['x-forwarded-host']
    request.headers.host = host
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1)
    // To `script-src`, oidc-provider adds the hash of the one script that it has where a form is to send itself.
    response.set('Content-Security-Policy', `${pagePolicy()}; script-src 'self'`)
    inTime(request, response, next)
  }
}
