import { Router, type Request, type Response } from 'express'
import { forgotPassword } from '../api/auth/link-operations.ts'
import { forgotPasswordPage } from '../pages/forgot-password-page.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { rememberedOrganisation } from '../pages/organisation-cookie.ts'
import type { PageRouteContext } from './page-route-context.ts'
import { sendPage } from '../pages/send-page.ts'

const action = '/account/forgot-password'
/** The maximum length of an e-mail address, as in the operation's contract. */
const longest = 254

/** GET shows the form, POST queues the request. The response does not reveal whether the user exists. */
export function forgotPasswordRoutes({ csrf, audited, prefix }: PageRouteContext): Router {
  const show = (request: Request, response: Response, wrong?: { username: string }) => {
    const language = languageOf(request)
    const organisation = rememberedOrganisation(request)
    const page = forgotPasswordPage({
      prefix,
      action: prefix + action,
      csrf: csrf.issue(request, response),
      language,
      organisation,
      wrong,
    })
    sendPage(response, wrong ? 422 : 200, page)
  }

  const routes = Router()
  routes.get(action, (request, response) => show(request, response))
  routes.post(action, readForm, async (request, response) => {
    csrf.assertValid(request)
    const username = fieldOf(request, 'username').trim()
    const words = textsIn(languageOf(request)).forgotPassword
    if (username === '') return show(request, response, { username: words.missing })
    if ([...username].length > longest) return show(request, response, { username: words.tooLong(longest) })
    await audited('auth.forgotPassword', request, response, (context) => forgotPassword({ username }, context))
    response.redirect(303, `${prefix}/account/forgot-password-sent`)
  })
  return routes
}
