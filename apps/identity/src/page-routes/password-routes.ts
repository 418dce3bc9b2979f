import { Router, type Request, type Response } from 'express'
import { resetPassword } from '../api/auth/reset-password.ts'
import type { FoundLink } from '../sign-in/links.ts'
import { weaknessOf } from '../sign-in/password.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { linkOf, refusedField, sendLinkEnded } from '../pages/links.ts'
import { newPasswordPage } from '../pages/new-password-page.ts'
import { wrongWith, type WrongPassword } from '../pages/new-password.ts'
import { rememberOrganisation } from '../pages/organisation-cookie.ts'
import type { Pages } from './routes.ts'
import { sendPage } from '../pages/send-page.ts'

const action = '/account/password'

/** GET shows the form for a new password to whoever has a link, POST changes it. */
export function passwordRoutes({ db, csrf, secure, prefix, audited }: Pages): Router {
  const show = (request: Request, response: Response, token: string, { user }: FoundLink, wrong?: WrongPassword) => {
    const page = newPasswordPage({
      prefix,
      action: prefix + action,
      csrf: csrf.issue(request, response),
      language: languageOf(request),
      organisation: { name: user.clientName },
      user,
      purpose: 'reset',
      hidden: { token },
      wrong,
    })
    sendPage(response, wrong ? 422 : 200, page)
  }

  const routes = Router()
  routes.get(action, async (request, response) => {
    const { token } = request.query
    const link = await linkOf(db, token, 'PASSWORD_RESET')
    if (!link || typeof token !== 'string') return sendLinkEnded(request, response, 'PASSWORD_RESET', prefix)
    show(request, response, token, link)
  })
  routes.post(action, readForm, async (request, response) => {
    csrf.demand(request)
    const token = fieldOf(request, 'token')
    const link = await linkOf(db, token, 'PASSWORD_RESET')
    if (!link) return sendLinkEnded(request, response, 'PASSWORD_RESET', prefix)
    const password = fieldOf(request, 'password')
    const texts = textsIn(languageOf(request))
    const wrong = wrongWith(password, fieldOf(request, 'repeat'), texts)
    if (wrong) return show(request, response, token, link, wrong)
    try {
      await audited('auth.resetPassword', request, response, (context) => resetPassword({ token, password }, context))
    } catch (error) {
      const field = refusedField(error)
      if (field === 'password')
        return show(request, response, token, link, {
          password: texts.newPassword[weaknessOf(password, link.user) ?? 'common'],
        })
      if (field === 'token') return sendLinkEnded(request, response, 'PASSWORD_RESET', prefix)
      throw error
    }
    rememberOrganisation(response, { name: link.user.clientName }, secure)
    response.redirect(303, `${prefix}/account/password-changed`)
  })
  return routes
}
