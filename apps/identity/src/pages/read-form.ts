import express, { type Request, type RequestHandler } from 'express'
import { problems } from '@sluice/http-server'

/** Parses the forms of the pages, which have a few short fields. */
export const readForm: RequestHandler = express.urlencoded({
  extended: false,
  limit: 8192,
  parameterLimit: 20,
  inflate: false,
})

/** Returns a form field, or an empty text if it is missing. Throws 400 if it occurs more than once or cannot be stored. */
export function readFormField(request: Request, name: string): string {
  const value: unknown = (request.body as Record<string, unknown> | undefined)?.[name] ?? ''
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed())
    throw problems.unreadableBody(`The field ${name} is not plain text.`)
  return value
}

/**
 * Closes a connection that takes longer than this many milliseconds to send a form. Forms need no token, so a client that
 * sends single bytes slowly could otherwise hold a connection for days.
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
