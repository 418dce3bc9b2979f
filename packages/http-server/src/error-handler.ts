import type { ErrorRequestHandler, Request } from 'express'
import { SemaphoreBusy, type Logger } from '@sluice/process'
import { Problem, problems } from './problem.ts'

/** An error of Express or its body parsers, which has a `type`. */
interface ParserError extends Error {
  type?: string
  status?: number
  limit?: number
}

/**
 * Returns the error handler that converts every failure to a problem document. `translate` converts the service's own
 * errors to problems.
 */
export function createErrorHandler(
  logger: Logger,
  translate: (error: unknown) => Problem | undefined,
): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error)
    const requestId = String(response.locals.requestId ?? '')
    const problem = toProblem(error, translate)
    if (problem.status >= 500) {
      // Logs the cause, because it says more than the problem that a handler made of it.
      const err = problem === error ? (problem.cause ?? problem) : error
      logger.error({ err, requestId, operation: response.locals.operation, code: problem.code }, problem.title)
    }
    const instance = request.originalUrl.split('?')[0] ?? ''
    response
      .status(problem.status)
      .set(problem.headers)
      .type('application/problem+json')
      .send(JSON.stringify(problem.document(instance.slice(0, 2000), requestId)))
    drainRequest(request)
  }
}

function toProblem(error: unknown, translate: (error: unknown) => Problem | undefined): Problem {
  if (error instanceof Problem) return error
  if (error instanceof SemaphoreBusy) return problems.busy(error.message)
  return translate(error) ?? toParserProblem(error) ?? problems.internal()
}

/** The milliseconds within which a client can notice a response that was sent before its request body ended. */
const drainTimeoutMs = 10_000

/**
 * Reads and discards the rest of a body. An unread body blocks later requests on the connection, and closing the
 * connection immediately often loses the response.
 */
function drainRequest(request: Request): void {
  if (request.complete || request.destroyed) return
  request.resume()
  const timer = setTimeout(() => request.socket.destroy(), drainTimeoutMs).unref()
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
}

/** Returns the problem for an error of the body parser or router, or undefined for other errors. */
function toParserProblem(error: unknown): Problem | undefined {
  const { type, limit, status, message } = error as ParserError
  switch (type) {
    case 'entity.parse.failed':
      return problems.unreadableBody(`The body is not valid JSON: ${message}.`)
    case 'entity.too.large':
      return problems.tooLarge(limit ?? 0)
    case 'encoding.unsupported':
      return problems.unsupportedMediaType('plain bytes, without Content-Encoding')
    case 'charset.unsupported':
      return problems.unsupportedMediaType('application/json in UTF-8')
    case 'request.aborted':
    case 'stream.not.readable':
    case 'request.size.invalid':
      return problems.unreadableBody('The body ended before its announced length. Send it again.')
    default:
      return error instanceof URIError || status === 400
        ? problems.unreadableBody('The address or body is not well formed.')
        : undefined
  }
}
