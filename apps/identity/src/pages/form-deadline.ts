import type { RequestHandler } from 'express'

/**
 * Ends the connection of whoever takes longer than this many milliseconds to send a form: nobody needs a token to send one,
 * and a byte now and then would hold a connection for days.
 */
export const formDeadline =
  (milliseconds = 30_000): RequestHandler =>
  (request, response, next) => {
    if (request.method === 'POST') {
      const timer = setTimeout(() => request.socket.destroy(), milliseconds).unref()
      request.once('end', () => clearTimeout(timer))
      response.once('close', () => clearTimeout(timer))
    }
    next()
  }
