import type { ErrorRequestHandler } from 'express'
import { Problem } from '@sluice/http'
import { translate } from '../problems.ts'
import { html } from './html.ts'
import { languageOf, textsIn } from './language.ts'
import { messagePage } from './message-page.ts'
import { sendPage } from './send-page.ts'
import type { Texts } from './texts/en.ts'

/** Shows what failed as a page. What nobody foresaw goes on to the one place that logs it. */
export const problemPages: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const problem = error instanceof Problem ? error : translate(error)
  const status = problem?.status ?? parserStatus(error)
  if (response.headersSent || status === undefined) return next(error)
  const language = languageOf(request)
  const texts = textsIn(language)
  const [title, text] = wordsOf(texts, status, Number(problem?.headers['Retry-After'] ?? 0))
  const id = String(response.locals.requestId ?? '')
  response.set(problem?.headers ?? {})
  const note = id && texts.problems.reference(html`<code>${id}</code>`)
  sendPage(response, status, messagePage({ language, title, text, note, status: 'problem' }))
}

/** Errors of the form parser carry the status they stand for. */
function parserStatus(error: unknown): number | undefined {
  const { status } = error as { status?: unknown }
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined
}

function wordsOf({ problems: words }: Texts, status: number, seconds: number): [string, string] {
  switch (status) {
    case 403:
      return [words.crossSiteTitle, words.crossSite]
    case 404:
      return [words.notFoundTitle, words.notFound]
    case 429:
      return [words.waitTitle, words.wait(seconds)]
    case 503:
      return [words.busyTitle, words.busy]
    default:
      return status < 500 ? [words.unreadableTitle, words.unreadable] : [words.internalTitle, words.internal]
  }
}
