import { type Request, type Response, Router } from 'express'
import { type LinkContext, resetPassword, acceptInvitation } from '../api/auth/link-operations.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { languageOf, textsIn } from '../pages/language.ts'
import { type NewPasswordFacts, type WrongPassword, newPasswordPage, wrongWith } from '../pages/new-password-page.ts'
import { rememberOrganisation, rememberedOrganisation } from '../pages/organisation-cookie.ts'
import { sendPage } from '../pages/send-page.ts'
import { type FoundLink, type LinkPurpose, findLink } from '../sign-in/tokens/one-time-links.ts'
import { weaknessOf } from '../sign-in/password/password-rules.ts'
import type { PageRouteContext } from './page-route-context.ts'
import { Problem } from '@sluice/http-server'
import type { Kysely } from 'kysely'
import type { DB } from '../database.ts'
import { messagePage } from '../pages/message-page.ts'
import { joinPage } from '../pages/join-page.ts'

type LinkUser = FoundLink['user']

/** The use of a one-time link and its pages. */
export interface LinkUse {
  purpose: LinkPurpose
  /** The path of the form. */
  action: string
  /** The operation in the audit log. */
  operation: string
  /** Returns whether the user chooses a password. With single sign-on, a click is enough. */
  asksPassword(user: LinkUser): boolean
  page(facts: Omit<NewPasswordFacts, 'purpose'>, user: LinkUser): string
  /** Uses the link. Throws 422 at `/token` for an invalid link, and at `/password` for a rejected password. */
  use(chosen: { token: string; password?: string }, context: LinkContext): Promise<void>
  /** The path of the final page. */
  done(user: LinkUser): string
}

/** GET shows the page of a link without using it; POST uses it. */
export function linkRoutes(
  { purpose, action, operation, asksPassword, page, use, done }: LinkUse,
  { db, csrf, secure, prefix, audited }: PageRouteContext,
): Router {
  const show = (request: Request, response: Response, { user, token }: ShownLink, wrong?: WrongPassword) => {
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
    csrf.assertValid(request)
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

type ShownLink = FoundLink & { token: string }

/** Finds the link of a request without using it, because mail programs open links before users do. */
async function linkOf(db: Kysely<DB>, token: unknown, purpose: LinkPurpose): Promise<FoundLink | undefined> {
  if (typeof token !== 'string' || !/^[\w-]{20,200}$/.test(token)) return undefined
  return findLink(db, token, purpose)
}

/** Sends the same page for used, expired and unknown links. */
function sendLinkEnded(request: Request, response: Response, purpose: LinkPurpose, prefix: string): void {
  const language = languageOf(request)
  const words = textsIn(language).link
  const facts = {
    prefix,
    language,
    organisation: rememberedOrganisation(request),
    title: words.title,
    status: 'problem',
  } as const
  const page =
    purpose === 'INVITATION'
      ? messagePage({ ...facts, text: words.invitation })
      : messagePage({
          ...facts,
          text: words.reset,
          link: { href: `${prefix}/account/forgot-password`, label: words.again },
        })
  sendPage(response, 404, page)
}

/** Returns the field of a validation error; undefined for other errors. */
function refusedField(error: unknown): string | undefined {
  return error instanceof Problem && error.status === 422 ? error.errors?.[0]?.pointer.slice(1) : undefined
}

/** GET shows the form of a password-reset link, POST changes the password. */
export const passwordRoutes = (pages: PageRouteContext): Router =>
  linkRoutes(
    {
      purpose: 'PASSWORD_RESET',
      action: '/account/password',
      operation: 'auth.resetPassword',
      asksPassword: () => true,
      page: (facts) => newPasswordPage({ ...facts, purpose: 'reset' }),
      use: ({ token, password = '' }, context) => resetPassword({ token, password }, context),
      done: () => '/account/password-changed',
    },
    pages,
  )

/** GET shows an invitation, POST accepts it: with a password, or with a click for single sign-on. */
export const invitationRoutes = (pages: PageRouteContext): Router =>
  linkRoutes(
    {
      purpose: 'INVITATION',
      action: '/account/invitation',
      operation: 'auth.acceptInvitation',
      asksPassword: ({ ssoAuth }) => !ssoAuth,
      page: (facts, { ssoAuth }) => (ssoAuth ? joinPage(facts) : newPasswordPage({ ...facts, purpose: 'invitation' })),
      use: acceptInvitation,
      done: ({ ssoAuth }) => `/account/${ssoAuth ? 'joined' : 'invitation-accepted'}`,
    },
    pages,
  )
