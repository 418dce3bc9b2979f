import type { ErrorRequestHandler } from 'express'
import { identityOperations } from '@sluice/contracts'
import { prefersHtml, Problem } from '@sluice/http-server'
import type { Logger } from '@sluice/process'
import { unknownSignInProblem } from '../../sign-in/federated/provider-problem.ts'
import { showInternalErrors, problemPages } from '../../pages/problem-pages.ts'

const { startSso, finishSso } = identityOperations.auth
const browserOperations: unknown[] = [startSso.id, finishSso.id]

/**
 * Shows errors of a sign-in at a provider (`startSso`, `finishSso`) as a page if the Accept header prefers HTML. Passes
 * all other errors on to the next handler. `prefix` is the path of the public address.
 */
export function showSsoProblems(prefix: string, logger: Logger): ErrorRequestHandler {
  const showInternalError = showInternalErrors(logger)
  return (error: unknown, request, response, next) => {
    if (!browserOperations.includes(response.locals.operation) || !prefersHtml(request.headers.accept))
      return next(error)
    response.locals.prefix = prefix
    // A request without valid parameters, such as one without `state`, gets the page that asks the user to start again.
    const shownProblem = error instanceof Problem && error.status === 400 ? unknownSignInProblem() : error
    problemPages(shownProblem, request, response, (unhandledError) =>
      showInternalError(unhandledError, request, response, next),
    )
  }
}
