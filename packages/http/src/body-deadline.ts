import type { RequestHandler } from 'express'

/**
 * JSON bodies are small, so they must be here in time: a peer that sends a byte now and then would hold a connection for
 * days, and needs no token for it. Its connection is ended. Uploads are not JSON; they end by the server's own time-out when they stall.
 */
export function bodyDeadline(milliseconds: number): RequestHandler {
  return (request, _response, next) => {
    if (request.is('application/json')) {
      const timer = setTimeout(() => request.socket.destroy(), milliseconds)
      request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
    }
    next()
  }
}
