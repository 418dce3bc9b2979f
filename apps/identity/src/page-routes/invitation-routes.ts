import { Router, type Request, type Response } from 'express'
import { acceptInvitation } from '../api/auth/accept-invitation.ts'
import type { FoundLink } from '../sign-in/links.ts'
import { weaknessOf } from '../sign-in/password.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { joinPage } from '../pages/join-page.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { linkOf, refusedField, sendLinkEnded } from '../pages/links.ts'
import { newPasswordPage } from '../pages/new-password-page.ts'
import { wrongWith, type WrongPassword } from '../pages/new-password.ts'
import { rememberOrganisation } from '../pages/organisation-cookie.ts'
import type { Pages } from './routes.ts'
import { sendPage } from '../pages/send-page.ts'

const action = '/account/invitation'

/** GET shows an invitation, POST accepts it: with a password, or with nothing but a click where sign-in is elsewhere. */
export function invitationRoutes({ db, csrf, secure, prefix, audited }: Pages): Router {
  const show = (request: Request, response: Response, link: Shown, wrong?: WrongPassword) => {
    const { user, token } = link
    const facts = {
      prefix,
      action: prefix + action,
      csrf: csrf.issue(request, response),
      language: languageOf(request),
      organisation: { name: user.clientName },
      user,
      hidden: { token },
    }
    const page = user.ssoAuth ? joinPage(facts) : newPasswordPage({ ...facts, purpose: 'invitation', wrong })
    sendPage(response, wrong ? 422 : 200, page)
  }

  const routes = Router()
  routes.get(action, async (request, response) => {
    const { token } = request.query
    const link = await linkOf(db, token, 'INVITATION')
    if (!link || typeof token !== 'string') return sendLinkEnded(request, response, 'INVITATION', prefix)
    show(request, response, { ...link, token })
  })
  routes.post(action, readForm, async (request, response) => {
    csrf.demand(request)
    const token = fieldOf(request, 'token')
    const link = await linkOf(db, token, 'INVITATION')
    if (!link) return sendLinkEnded(request, response, 'INVITATION', prefix)
    const { ssoAuth, clientName } = link.user
    const password = fieldOf(request, 'password')
    const texts = textsIn(languageOf(request))
    const wrong = ssoAuth ? undefined : wrongWith(password, fieldOf(request, 'repeat'), texts)
    if (wrong) return show(request, response, { ...link, token }, wrong)
    try {
      const body = ssoAuth ? { token } : { token, password }
      await audited('auth.acceptInvitation', request, response, (context) => acceptInvitation(body, context))
    } catch (error) {
      const field = refusedField(error)
      if (field === 'password')
        return show(
          request,
          response,
          { ...link, token },
          { password: texts.newPassword[weaknessOf(password, link.user) ?? 'common'] },
        )
      if (field === 'token') return sendLinkEnded(request, response, 'INVITATION', prefix)
      throw error
    }
    rememberOrganisation(response, { name: clientName }, secure)
    response.redirect(303, `${prefix}/account/${ssoAuth ? 'joined' : 'invitation-accepted'}`)
  })
  return routes
}

type Shown = FoundLink & { token: string }
