import type { ErrorRequestHandler } from 'express'
import { identityOperations } from '@sluice/contracts'
import { prefersPage, Problem } from '@sluice/http'
import type { Logger } from '@sluice/process'
import { unknownSignIn } from '../../sign-in/federated/sign-in-problems.ts'
import { brokenPages, problemPages } from '../../pages/problem-pages.ts'

const { startSso, finishSso } = identityOperations.auth
const forBrowsers: unknown[] = [startSso.id, finishSso.id]

/**
 * Shows problems of the operations that browsers pass through on a sign-in at a provider as pages, if the Accept header prefers HTML.
 * Passes all other errors on. `prefix` is the path of the public address.
 */
export function federatedProblemPages(prefix: string, logger: Logger): ErrorRequestHandler {
  const broken = brokenPages(logger)
  return (error: unknown, request, response, next) => {
    if (!forBrowsers.includes(response.locals.operation) || !prefersPage(request.headers.accept)) return next(error)
    response.locals.prefix = prefix
    // A request without a valid state is a sign-in that cannot go on.
    const shown = error instanceof Problem && error.status === 400 ? unknownSignIn() : error
    problemPages(shown, request, response, (left) => broken(left, request, response, next))
  }
}
