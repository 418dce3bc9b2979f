import type { Request } from 'express'
import { findCookie } from '../../cookies.ts'
import { renderCodeForm } from '../../pages/second-factor-page.ts'
import { readPageTexts } from '../../pages/choose-language.ts'
import { sendPage } from '../../pages/send-page.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { isNotSignedIn, signInWithCode, type SecondFactorRequired } from '../../sign-in/password/password-sign-in.ts'
import { type InteractionStep, finishLogin } from './interaction-step.ts'

const secondFactorCookie = 'sluice-second-factor'

/** Stores the ticket that proves the verified password in a cookie of this interaction, until the second step. */
export function setTicketCookie({ response, base, config }: InteractionStep, { ticket }: SecondFactorRequired): void {
  const { secure } = parsePublicAddress(config.IDENTITY_PUBLIC_URL)
  response.cookie(secondFactorCookie, ticket, { httpOnly: true, sameSite: 'lax', secure, path: base, maxAge: 300_000 })
}

const readTicketCookie = (request: Request): string | undefined =>
  findCookie(request.headers.cookie, secondFactorCookie)

/** Shows the page for a code of an authenticator app or, with `?recovery`, for a recovery code. */
export async function showCodePage(step: InteractionStep): Promise<void> {
  if (readTicketCookie(step.request) === undefined) return step.response.redirect(303, step.base)
  sendCodePage(step, 200)
}

/** Sends the page with the form for a code. The query parameter `recovery` selects the form for a recovery code. */
function sendCodePage(
  { prefix, base, csrf, request, response, language, application, targets }: InteractionStep,
  status: number,
  message?: string,
) {
  const isRecovery = 'recovery' in request.query
  const page = renderCodeForm({
    prefix,
    language,
    organisation: application.organisation,
    action: `${base}/code${isRecovery ? '?recovery' : ''}`,
    csrf: csrf.issue(request, response),
    recovery: isRecovery,
    otherHref: `${base}/code${isRecovery ? '' : '?recovery'}`,
    ...(message !== undefined && { message }),
  })
  sendPage(response, status, page, { formAction: targets })
}

/**
 * Handles the submitted code. After a correct code, continues the application's request; otherwise sends the form
 * again. Redirects to the sign-in form if the browser has no ticket from the first step.
 */
export async function submitCode(step: InteractionStep): Promise<void> {
  const { request, response, audited, application, base, language } = step
  const ticket = readTicketCookie(request)
  const pageTexts = readPageTexts(language).code
  const { code } = request.body as { code?: unknown }
  if (ticket === undefined) return response.redirect(303, base)
  if (typeof code !== 'string' || code.trim() === '' || code.length > 40)
    return sendCodePage(step, 400, pageTexts.missing)
  try {
    const result = await audited('auth.loginWithCode', request, response, (context) =>
      signInWithCode({ ticket, code: code.trim() }, { ...context, expectedClient: application.tenant }),
    )
    response.clearCookie(secondFactorCookie, { path: base })
    await finishLogin(step, result)
  } catch (error) {
    if (!isNotSignedIn(error)) throw error
    sendCodePage(step, 401, pageTexts.refused)
  }
}
