import type { RequestHandler } from 'express'
import type { Logger } from '@sluice/process'
import type { Caller } from './operation.ts'

/** One line per answered request. Health checks and metrics are left out: they would drown the rest. */
export function logRequests(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const start = process.hrtime.bigint()
    // Once the connection is gone, nobody knows its address any more.
    const address = request.ip
    response.once('close', () => {
      const path = request.originalUrl.split('?')[0] ?? ''
      if (path.startsWith('/health/') || path === '/metrics') return
      const { requestId, operation, caller } = response.locals as {
        requestId?: string
        operation?: string
        caller?: Caller
      }
      const line = {
        requestId,
        method: request.method,
        path,
        operation,
        status: response.statusCode,
        ms: Number((process.hrtime.bigint() - start) / 10_000n) / 100,
        address,
        ...(caller?.uid && { user: caller.uid, client: caller.client }),
        ...(!response.writableFinished && { aborted: true }),
      }
      logger[response.statusCode >= 500 ? 'error' : 'info'](line, 'request')
    })
    next()
  }
}
