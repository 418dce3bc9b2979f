import type { Request } from 'express'
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { html } from '../pages/html.ts'
import { chooseLanguage, readPageTexts } from '../pages/choose-language.ts'
import { renderMessagePage } from '../pages/message-page.ts'
import { parsePublicAddress } from '../public-address.ts'
import { type ConsoleSettings, isConsole, findConsoleOffReason } from './storage/built-in-applications.ts'
import type { ExtraMetadata } from './storage/clients.ts'
import { buildPageHeaders } from '../pages/send-page.ts'
import type { PageTexts } from '../pages/texts/en.ts'

/** Returns the path prefix, the language and, if the application is known, the organisation of a page. */
export function describePage({ req, oidc }: KoaContextWithOIDC) {
  const name = (oidc.client as unknown as ExtraMetadata | undefined)?.organisation
  const { prefix } = parsePublicAddress(oidc.provider.issuer)
  return { prefix, language: chooseLanguage(req as Request), ...(name && { organisation: { name } }) }
}

/** Returns a function that shows the error page for a request that cannot be redirected back to the application. */
export const createErrorRenderer = (settings: ConsoleSettings) =>
  async function renderError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
    const pageFacts = describePage(ctx)
    const texts = readPageTexts(pageFacts.language)
    const { client_id: clientId } = ctx.oidc.params ?? {}
    const consoleOffReason = isConsole(clientId as string | undefined) ? findConsoleOffReason(settings) : undefined
    const technical = [out.error, consoleOffReason || out.error_description].filter(Boolean).join(': ')
    const note = html`${texts.application.forDevelopers} <code>${technical}</code>`
    const message = readRefusalTexts(texts, out.error)
    sendProviderPage(ctx, renderMessagePage({ ...pageFacts, ...message, note, status: 'problem' }))
  }

/**
 * Sends a page like `sendPage`, but through the context of oidc-provider, which adds cookies afterwards. `formAction`
 * lists the origins to which a form's response may redirect.
 */
export function sendProviderPage(ctx: KoaContextWithOIDC, page: string, formAction: readonly string[] = []): void {
  ctx.set(buildPageHeaders(formAction))
  ctx.type = 'html'
  ctx.body = page
}

/** Maps OAuth error codes of invalid application requests to page texts. */
const errorPageKinds = new Map<string, 'unknown' | 'wrongAddress' | 'wrongRequest' | 'broken' | 'ended'>([
  ['invalid_client', 'unknown'],
  ['invalid_redirect_uri', 'wrongAddress'],
  ['invalid_request', 'wrongRequest'],
  ['invalid_scope', 'wrongRequest'],
  ['invalid_target', 'wrongRequest'],
  ['unauthorized_client', 'wrongRequest'],
  ['unsupported_response_type', 'wrongRequest'],
  ['server_error', 'broken'],
  ['session_not_found', 'ended'],
])

/** Returns the page texts for an OAuth error code. Sluice adds the code `session_not_found`. */
export const readRefusalTexts = ({ application }: PageTexts, code: string): { title: string; text: string } =>
  application[errorPageKinds.get(code) ?? 'other']
