import type { ErrorRequestHandler, Request, Response } from 'express'
import { Problem, problems } from '@sluice/http-server'
import type { Logger } from '@sluice/process'
import { translateDatabaseError } from '../map-database-errors.ts'
import { html } from './html.ts'
import { chooseLanguage, readPageTexts } from './choose-language.ts'
import { renderMessagePage } from './message-page.ts'
import { sendPage } from './send-page.ts'
import type { PageTexts } from './texts/en.ts'

/**
 * Shows an error of the request as a page, for routes that browsers open. Passes internal errors on to the next
 * handler, which must be `showInternalErrors`.
 */
export const problemPages: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const problem = toProblem(error)
  if (response.headersSent || problem.status >= 500) return next(error)
  showProblem(problem, request, response)
}

/**
 * Shows a page for an internal error. Logs the cause, which the page does not show. `response.locals.prefix` is the
 * path of the public address, if it has one.
 */
export function showInternalErrors(logger: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error)
    const problem = toProblem(error)
    const { requestId, operation } = response.locals
    logger.error({ err: problem.cause ?? error, requestId, operation, code: problem.code }, problem.title)
    showProblem(problem, request, response)
  }
}

/** Sends the page for a problem, in the user's language and with the id of the request. */
function showProblem(problem: Problem, request: Request, response: Response): void {
  const language = chooseLanguage(request)
  const texts = readPageTexts(language)
  const requestId = String(response.locals.requestId ?? '')
  const note = requestId && texts.problems.reference(html`<code>${requestId}</code>`)
  const prefix = response.locals.prefix as string | undefined
  response.set(problem.headers)
  sendPage(
    response,
    problem.status,
    renderMessagePage({ prefix, language, ...chooseTexts(texts, problem), note, status: 'problem' }),
  )
}

/** Converts an error to a problem. Errors of the form parser carry an HTTP status. */
function toProblem(error: unknown): Problem {
  const knownProblem = error instanceof Problem ? error : translateDatabaseError(error)
  if (knownProblem) return knownProblem
  const { status } = error as { status?: unknown }
  return typeof status === 'number' && status >= 400 && status < 500
    ? new Problem(status, 'unreadable-form', 'The form cannot be read.')
    : problems.internal()
}

/** Returns the title and text for a problem: by its code for SSO problems, otherwise by its status. */
function chooseTexts({ problems: pageTexts }: PageTexts, { code, status, headers }: Problem) {
  if (isKeyOf(pageTexts.federated, code)) return pageTexts.federated[code]
  switch (status) {
    case 403:
      return { title: pageTexts.crossSiteTitle, text: pageTexts.crossSite }
    case 404:
      return { title: pageTexts.notFoundTitle, text: pageTexts.notFound }
    case 429:
      return { title: pageTexts.waitTitle, text: pageTexts.wait(Number(headers['Retry-After'] ?? 60)) }
    case 503:
      return { title: pageTexts.busyTitle, text: pageTexts.busy }
    default:
      return status < 500
        ? { title: pageTexts.unreadableTitle, text: pageTexts.unreadable }
        : { title: pageTexts.internalTitle, text: pageTexts.internal }
  }
}

const isKeyOf = <T extends object>(object: T, key: string): key is keyof T & string => Object.hasOwn(object, key)
