import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { Problem, problems } from '@sluice/http-server'
import { toNetworkPrefix } from '../sign-in/throttle/network-prefix.ts'
import { html } from '../pages/html.ts'
import { chooseLanguage, readPageTexts } from '../pages/choose-language.ts'
import { renderMessagePage } from '../pages/message-page.ts'
import { sendPage } from '../pages/send-page.ts'
import { readRefusalTexts } from './provider-pages.ts'

interface PendingLoginLimit {
  /**
   * Returns whether a response completes or refuses a sign-in, so that it no longer counts as pending. `isResumed` is
   * true if the request continued an earlier sign-in.
   */
  isOver?(response: Response, isResumed: boolean): boolean
  /** The maximum number of pending sign-ins per network within `windowMs`. */
  maxLogins?: number
  /** The length of the time window in milliseconds. */
  windowMs?: number
}

interface PendingLogins {
  count: number
  since: number
}

/** The maximum number of networks in memory, about 2 MB. */
const maxNetworks = 20_000

/**
 * Limits the pending sign-ins of a network, because each one is a row that the database keeps for an hour, and starting
 * one needs no authentication. A completed sign-in lowers the count, so that all users of an office can sign in. Each
 * process counts separately. Mount this handler at the addresses where sign-ins start. Throws 429.
 */
export function limitPendingLogins({
  maxLogins = 300,
  windowMs = 600_000,
  isOver = isLoginOver,
}: PendingLoginLimit = {}): RequestHandler {
  const findOrAddCounter = createNetworkCounters(windowMs)

  const countNewLogin = (pending: PendingLogins) => {
    if (pending.count >= maxLogins)
      throw problems.tooManyRequests(
        Math.max(1, Math.ceil((pending.since + windowMs - Date.now()) / 1000)),
        'Too many unfinished sign-ins from this network. Complete one, or try again later.',
      )
    pending.count += 1
  }

  return (request, response, next) => {
    const pending = findOrAddCounter(request.ip ?? '')
    // A request that continues a sign-in has the sign-in's id in its path.
    const isResumed = request.path !== '/'
    // Count before it is known whether the request starts a sign-in, so that concurrent requests cannot exceed the
    // limit.
    if (!isResumed) countNewLogin(pending)
    response.once('close', () => {
      if (isOver(response, isResumed)) pending.count = Math.max(0, pending.count - 1)
    })
    next()
  }
}

/**
 * Returns a function that returns the counter of an address's network. It starts a new counter after `windowMs`, and
 * deletes the oldest one if there are too many.
 */
function createNetworkCounters(windowMs: number): (address: string) => PendingLogins {
  // The networks are ordered by the start of their time window, oldest first.
  const networks = new Map<string, PendingLogins>()
  return (address) => {
    const key = toNetworkPrefix(address)
    const existing = networks.get(key)
    if (existing && Date.now() - existing.since < windowMs) return existing
    networks.delete(key)
    const [oldestKey] = networks.keys()
    if (networks.size >= maxNetworks && oldestKey !== undefined) networks.delete(oldestKey)
    const counter = { count: 0, since: Date.now() }
    networks.set(key, counter)
    return counter
  }
}

function isLoginOver(response: Response, isResumed: boolean): boolean {
  const location = response.get('Location') ?? ''
  const isInteraction = /\/interaction\/[^/]+$/.test(location)
  const isCompleted = URL.canParse(location) && new URL(location).searchParams.has('code')
  return isResumed ? isCompleted : !isInteraction
}

/**
 * Limits a network's requests for device codes and for the pages where users enter them, because each one stores a row.
 * Refused requests do not count.
 */
export const limitDeviceLogins = (): RequestHandler =>
  limitPendingLogins({ isOver: ({ statusCode }, isResumed) => !isResumed && statusCode >= 400 })

/** Answers with the OAuth error `slow_down` if `limitDeviceLogins` refused the request. */
export const answerDeviceLimit: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (!(error instanceof Problem) || error.status !== 429) return next(error)
  response.status(429).set({ ...error.headers, 'Cache-Control': 'no-store' })
  response.json({ error: 'slow_down', error_description: 'too many device codes were requested from this network' })
}

/** oidc-provider's own limit is 56 KiB, which is too much for an endpoint without authentication. */
const maxBodyBytes = 16_384

/**
 * Rejects a form before reading it if it is compressed, longer than 16 KiB, or of unknown length. Responds with an
 * error of RFC 6749, because the endpoints are OAuth endpoints.
 */
export const limitFormBody: RequestHandler = ({ headers }, response, next) => {
  const refuse = (status: number, error_description: string) =>
    response.status(status).set('Cache-Control', 'no-store').json({ error: 'invalid_request', error_description })
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return refuse(415, 'the body must not be compressed')
  if (headers['transfer-encoding'] !== undefined) return refuse(411, 'the body needs a Content-Length')
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes)
    return refuse(413, `the body has more than ${maxBodyBytes} bytes`)
  next()
}

/**
 * The limit exists because the database stores parameters such as `state` for each sign-in, and starting one needs no
 * authentication.
 */
const maxParameterBytes = 2048
/** `id_token_hint` may be longer: Sluice itself issues the ID tokens, which contain names of any permitted length. */
const maxBytesByParameter = new Map([['id_token_hint', 4096]])
const maxQueryLength = 8192

/** Rejects a request with an overlong query or parameter, and shows an error page. */
export const limitParameterLength =
  (prefix: string): RequestHandler =>
  (request, response, next) => {
    const [, query = ''] = request.originalUrl.split(/\?(.*)/s)
    const tooLong = query.length > maxQueryLength ? 'the query' : findLongParameter(new URLSearchParams(query))
    if (tooLong === undefined) return next()
    const language = chooseLanguage(request)
    const texts = readPageTexts(language)
    const technical = `invalid_request: ${tooLong} is too long`
    const note = html`${texts.application.forDevelopers} <code>${technical}</code>`
    const message = readRefusalTexts(texts, 'invalid_request')
    sendPage(response, 400, renderMessagePage({ prefix, language, ...message, note, status: 'problem' }))
  }

const findLongParameter = (parameters: URLSearchParams): string | undefined =>
  [...parameters]
    .find(([name, value]) => Buffer.byteLength(value) > (maxBytesByParameter.get(name) ?? maxParameterBytes))?.[0]
    .slice(0, 50)
