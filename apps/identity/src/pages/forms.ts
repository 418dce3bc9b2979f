import express, { type Request, type RequestHandler } from 'express'
import { problems } from '@sluice/http'

/** Reads a form of ours: a handful of short fields. */
export const readForm: RequestHandler = express.urlencoded({
  extended: false,
  limit: 8192,
  parameterLimit: 20,
  inflate: false,
})

/** A field of the form, empty when it is not there. Throws 400 when it is there more than once, or cannot be stored. */
export function fieldOf(request: Request, name: string): string {
  const given: unknown = (request.body as Record<string, unknown> | undefined)?.[name] ?? ''
  if (typeof given !== 'string' || given.includes('\0') || !given.isWellFormed())
    throw problems.unreadableBody(`The field ${name} is not plain text.`)
  return given
}

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
