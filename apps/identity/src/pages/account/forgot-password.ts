import { Router, type Request, type Response } from 'express'
import { requestReset } from '../../api/auth/one-time-link-operations.ts'
import { readFormField, readForm } from '../read-form.ts'
import { html } from '../html.ts'
import { chooseLanguage, readPageTexts } from '../choose-language.ts'
import { renderButton, renderField, renderForm, renderSummary } from '../components/forms.ts'
import { renderFrame, type PageFacts } from '../components/page-layout.ts'
import { sendPage } from '../send-page.ts'
import { readPageFacts, type PageRouteContext } from './page-route-context.ts'

const forgotPasswordPath = '/account/forgot-password'
/** The maximum length of an e-mail address, as in the operation's contract. */
const maxUsernameLength = 254

/**
 * Returns the routes for requesting a password reset: GET shows the form, POST queues the request. The response does
 * not reveal whether the user exists.
 */
export function createForgotPasswordRoutes({ csrf, audited, prefix }: PageRouteContext): Router {
  const show = (request: Request, response: Response, fieldErrors?: ForgotPasswordFacts['fieldErrors']) => {
    const pageFacts = {
      ...readPageFacts(request, prefix),
      action: prefix + forgotPasswordPath,
      csrf: csrf.issue(request, response),
      fieldErrors,
    }
    sendPage(response, fieldErrors ? 422 : 200, renderForgotPasswordPage(pageFacts))
  }

  const routes = Router()
  routes.get(forgotPasswordPath, (request, response) => show(request, response))
  routes.post(forgotPasswordPath, readForm, async (request, response) => {
    csrf.assertValid(request)
    const username = readFormField(request, 'username').trim()
    const texts = readPageTexts(chooseLanguage(request))
    if (username === '') return show(request, response, { username: texts.forgotPassword.missing })
    if ([...username].length > maxUsernameLength)
      return show(request, response, { username: texts.tooLong(maxUsernameLength) })
    await audited('auth.forgotPassword', request, response, (context) => requestReset({ username }, context))
    response.redirect(303, `${prefix}/account/forgot-password-sent`)
  })
  return routes
}

interface ForgotPasswordFacts extends PageFacts {
  action: string
  csrf: string
  fieldErrors?: { username?: string } | undefined
}

/** Returns the page with the form field `username`. */
export function renderForgotPasswordPage({ action, csrf, fieldErrors, ...pageFacts }: ForgotPasswordFacts): string {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.forgotPassword
  return renderFrame({
    ...pageFacts,
    title: pageTexts.title,
    failed: fieldErrors !== undefined,
    main: html`<p class="lead">${pageTexts.lead}</p>
${renderSummary(texts, undefined, fieldErrors)}
${renderForm({
  action,
  hidden: { csrf },
  main: html`${renderField({
    name: 'username',
    label: pageTexts.label,
    autocomplete: 'username',
    value: '',
    maxlength: maxUsernameLength,
    error: fieldErrors?.username,
    autofocus: !fieldErrors,
  })}
${renderButton(pageTexts.submit)}`,
})}`,
  })
}
