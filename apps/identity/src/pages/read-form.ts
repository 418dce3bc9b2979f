import express, { type Request, type RequestHandler } from 'express'
import { problems } from '@sluice/http-server'

/** Parses the forms of the pages, which have a few short fields. */
export const readForm: RequestHandler = express.urlencoded({
  extended: false,
  limit: 8192,
  parameterLimit: 20,
  inflate: false,
})

/**
 * Returns a form field, or an empty string if it is missing. Throws 400 if the field occurs more than once or contains
 * characters that PostgreSQL cannot store.
 */
export function readFormField(request: Request, name: string): string {
  const value: unknown = (request.body as Record<string, unknown> | undefined)?.[name] ?? ''
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed())
    throw problems.unreadableBody(
      `The field ${name} occurs twice or contains a NUL character. Correct it, and send the form again.`,
    )
  return value
}

/**
 * Closes a connection that takes more than this many milliseconds to send a form. Forms need no authentication, so an
 * attacker who sends single bytes could otherwise keep a connection open for days.
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
