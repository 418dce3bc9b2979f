import type { RequestHandler } from 'express'
import { html } from '../pages/html.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { messagePage } from '../pages/message-page.ts'
import { sendPage } from '../pages/send-page.ts'
import { refusalIn } from './refusals.ts'

/** Bytes: what comes in `state` and the like is kept with a sign-in, and nobody needs to be known to begin one. */
const mostEach = 2048
/** An ID token is signed by us, and holds names of any length that we let people have. */
const mostOf = new Map([['id_token_hint', 4096]])
const mostTogether = 8192

/** Refuses, with a page, requests whose parameters are longer than any application has use for. */
export const shortParameters =
  (prefix: string): RequestHandler =>
  (request, response, next) => {
    const [, query = ''] = request.originalUrl.split(/\?(.*)/s)
    const tooLong = query.length > mostTogether ? 'the query' : longOne(new URLSearchParams(query))
    if (tooLong === undefined) return next()
    const language = languageOf(request)
    const texts = textsIn(language)
    const technical = `invalid_request: ${tooLong} is too long`
    const note = html`${texts.application.forDevelopers} <code>${technical}</code>`
    const words = refusalIn(texts, 'invalid_request')
    sendPage(response, 400, messagePage({ prefix, language, ...words, note, status: 'problem' }))
  }

const longOne = (parameters: URLSearchParams): string | undefined =>
  [...parameters].find(([name, value]) => Buffer.byteLength(value) > (mostOf.get(name) ?? mostEach))?.[0].slice(0, 50)
