import { Router, type Request, type Response } from 'express'
import type { LinkContext } from '../api/auth/link-context.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { linkOf, refusedField, sendLinkEnded } from '../pages/links.ts'
import type { NewPasswordFacts } from '../pages/new-password-page.ts'
import { wrongWith, type WrongPassword } from '../pages/new-password.ts'
import { rememberOrganisation } from '../pages/organisation-cookie.ts'
import { sendPage } from '../pages/send-page.ts'
import type { FoundLink, LinkPurpose } from '../sign-in/links.ts'
import { weaknessOf } from '../sign-in/password.ts'
import type { Pages } from './routes.ts'

type User = FoundLink['user']

/** What a link from a mail is for, and what its pages are like. */
export interface LinkUse {
  purpose: LinkPurpose
  /** Where its form is, and is sent to. */
  action: string
  /** What the audit calls its use. */
  operation: string
  /** Whether its user chooses a password; where sign-in is elsewhere, a click is enough. */
  asksPassword(user: User): boolean
  page(facts: Omit<NewPasswordFacts, 'purpose'>, user: User): string
  /** Throws 422 at `/token` for a link that does not work, and at `/password` for a password that will not do. */
  use(chosen: { token: string; password?: string }, context: LinkContext): Promise<void>
  /** Where the browser goes then. */
  done(user: User): string
}

/** GET shows what a link is for, which does not use it up; POST uses it. */
export function linkRoutes(
  { purpose, action, operation, asksPassword, page, use, done }: LinkUse,
  { db, csrf, secure, prefix, audited }: Pages,
): Router {
  const show = (request: Request, response: Response, { user, token }: Shown, wrong?: WrongPassword) => {
    const facts = {
      prefix,
      action: prefix + action,
      csrf: csrf.issue(request, response),
      language: languageOf(request),
      organisation: { name: user.clientName },
      user,
      hidden: { token },
      wrong,
    }
    sendPage(response, wrong ? 422 : 200, page(facts, user))
  }

  const routes = Router()
  routes.get(action, async (request, response) => {
    const { token } = request.query
    const link = await linkOf(db, token, purpose)
    if (!link || typeof token !== 'string') return sendLinkEnded(request, response, purpose, prefix)
    show(request, response, { ...link, token })
  })
  routes.post(action, readForm, async (request, response) => {
    csrf.demand(request)
    const token = fieldOf(request, 'token')
    const link = await linkOf(db, token, purpose)
    if (!link) return sendLinkEnded(request, response, purpose, prefix)
    const { user } = link
    const password = fieldOf(request, 'password')
    const texts = textsIn(languageOf(request))
    const asked = asksPassword(user)
    const wrong = asked ? wrongWith(password, fieldOf(request, 'repeat'), texts) : undefined
    if (wrong) return show(request, response, { ...link, token }, wrong)
    try {
      const chosen = asked ? { token, password } : { token }
      await audited(operation, request, response, (context) => use(chosen, context))
    } catch (error) {
      const field = refusedField(error)
      if (field === 'password') {
        const weak = texts.newPassword[weaknessOf(password, user) ?? 'common']
        return show(request, response, { ...link, token }, { password: weak })
      }
      if (field === 'token') return sendLinkEnded(request, response, purpose, prefix)
      throw error
    }
    rememberOrganisation(response, { name: user.clientName }, secure)
    response.redirect(303, `${prefix}${done(user)}`)
  })
  return routes
}

type Shown = FoundLink & { token: string }
