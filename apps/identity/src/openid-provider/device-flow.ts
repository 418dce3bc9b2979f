import type { Request } from 'express'
import type { Context, Next } from 'koa'
import { type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { renderDeviceCodePage, renderDeviceConfirmationPage } from '../pages/device-pages.ts'
import { html, isolateName } from '../pages/html.ts'
import { readPageTexts } from '../pages/choose-language.ts'
import { renderMessagePage } from '../pages/message-page.ts'
import type { PageTexts } from '../pages/texts/en.ts'
import { describePage, readRefusalTexts, sendProviderPage } from './provider-pages.ts'
import { TooManyUserCodes } from './storage/user-codes.ts'

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>

/**
 * The program that requested the sign-in, for the confirmation page. Only the address is verified; the program chooses
 * its own name.
 */
interface DeviceInfo extends Record<string, unknown> {
  address: string
  userAgent: string
}

/**
 * The device flow (RFC 8628): a program without a browser shows a user code, and its user enters the code on another
 * device. The pages ask for the code, then for a confirmation; after that the sign-in continues as for any other
 * application.
 */
export const deviceFlow: DeviceFlow = {
  enabled: true,
  charset: 'base-20',
  mask: '****-****',
  deviceInfo: (ctx): DeviceInfo => ({
    address: (ctx.req as Request).ip ?? '',
    userAgent: cleanProgramName(ctx.get('user-agent')),
  }),
  userCodeInputSource: async (ctx, _form, out, error) => showCodePage(ctx, out, error),
  async userCodeConfirmSource(ctx, _form, client, device, userCode) {
    const { address, userAgent } = device as DeviceInfo
    const { user_code: entered } = ctx.oidc.params ?? {}
    const page = renderDeviceConfirmationPage({
      ...describePage(ctx),
      ...buildForm(ctx, { user_code: String(entered) }),
      application: client.clientName ?? client.clientId,
      userCode,
      address,
      userAgent,
    })
    sendProviderPage(ctx, page)
  },
  async successSource(ctx) {
    const pageFacts = describePage(ctx)
    const { doneTitle, done } = readPageTexts(pageFacts.language).device
    const text = done(html`<strong>${isolateName(ctx.oidc.client?.clientName ?? '')}</strong>`)
    sendProviderPage(ctx, renderMessagePage({ ...pageFacts, title: doneTitle, text, status: 'success' }))
  },
}

/** The maximum length of a program's name: too short for a sentence that persuades the user. */
const maxProgramName = 60

/** Returns the name that a program claims in its User-Agent header, without control characters and shortened. */
function cleanProgramName(userAgent: string): string {
  // Node reads headers as Latin-1, so they contain no Unicode characters that change the text direction.
  const printable = userAgent.replace(/[^\x20-\x7e\xa1-\xac\xae-\xff]+/g, ' ').trim()
  return printable.length > maxProgramName ? `${printable.slice(0, maxProgramName - 1)}…` : printable
}

/**
 * Shows the page that asks for the user code, with a message after a wrong code. Shows a message page for other errors.
 * oidc-provider calls this function in all these cases.
 */
function showCodePage(ctx: KoaContextWithOIDC, out: ErrorOut | undefined, error: Error | undefined): void {
  const pageFacts = describePage(ctx)
  const form = { ...pageFacts, ...buildForm(ctx) }
  if (error === undefined) {
    const userCode = readUserCodeOfLink(ctx)
    return sendProviderPage(ctx, renderDeviceCodePage({ ...form, ...(userCode && { userCode }) }))
  }
  const texts = readPageTexts(pageFacts.language)
  const wrongCodeMessage = findWrongCodeMessage(error, texts)
  if (wrongCodeMessage === undefined)
    return sendProviderPage(ctx, renderMessagePage({ ...pageFacts, ...explainError(error, out, texts) }))
  if (error instanceof TooManyUserCodes) ctx.set('Retry-After', String(error.seconds))
  sendProviderPage(ctx, renderDeviceCodePage({ ...form, message: wrongCodeMessage }))
}

/** Returns the texts of the message page for an error that another code cannot solve. */
function explainError(error: Error, out: ErrorOut | undefined, texts: PageTexts) {
  const { device: pageTexts, problems, application } = texts
  const userDeclined = error.name === 'AbortedError'
  if (userDeclined) return { title: pageTexts.deniedTitle, text: pageTexts.denied }
  const status = 'problem' as const
  const hasSignInEnded = error instanceof errors.SessionNotFound || error instanceof errors.InvalidGrant
  if (hasSignInEnded) return { title: application.ended.title, text: pageTexts.ended, status }
  const lacksCsrfToken = error instanceof errors.InvalidRequest
  if (lacksCsrfToken) return { title: problems.crossSiteTitle, text: problems.crossSite, status }
  return { ...readRefusalTexts(texts, out?.error ?? 'server_error'), status }
}

/**
 * Returns the message for a code that is not accepted; undefined for other errors. The message does not say whether the
 * code exists, so that codes cannot be guessed.
 */
function findWrongCodeMessage(error: Error, { device: pageTexts, problems }: PageTexts): string | undefined {
  if (error instanceof TooManyUserCodes) return problems.wait(error.seconds)
  switch (error.name) {
    case 'NoCodeError':
      return pageTexts.missing
    case 'NotFoundError':
    case 'ExpiredError':
    case 'AlreadyUsedError':
      return pageTexts.refused
    default:
      return undefined
  }
}

/**
 * Returns the address and the hidden fields of a form. `xsrf` is oidc-provider's CSRF token, which is bound to the
 * session.
 */
function buildForm({ oidc }: KoaContextWithOIDC, hidden: Record<string, string> = {}) {
  const action = new URL(oidc.urlFor('code_verification')).pathname
  return { action, hidden: { xsrf: String(oidc.session?.state?.['secret']), ...hidden } }
}

/** Returns the user code from the link `verification_uri_complete`, to fill in the form. */
function readUserCodeOfLink({ originalUrl }: Context): string | undefined {
  const [, query = ''] = originalUrl.split(/\?(.*)/s)
  const userCode = new URLSearchParams(query).get('user_code')
  return userCode && /^[A-Za-z -]{1,20}$/.test(userCode) ? userCode : undefined
}

/**
 * Hides a link's user code from oidc-provider, which would answer with a form that a script submits at once. Users have
 * to submit the code themselves.
 */
export async function keepUserCodeOffForms(ctx: Context, next: Next): Promise<void> {
  if (ctx.method === 'GET' && 'user_code' in ctx.query) {
    const { user_code: _userCode, ...rest } = ctx.query
    ctx.query = rest
  }
  await next()
}
