import { type Request, type Response, Router } from 'express'
import type { Kysely } from 'kysely'
import { passwordLength } from '@sluice/contracts'
import { Problem } from '@sluice/http-server'
import { type LinkContext, acceptInvitation, resetPassword } from '../../api/auth/one-time-link-operations.ts'
import type { DB } from '../../database.ts'
import { type FoundLink, type LinkPurpose, findLink } from '../../sign-in/tokens/one-time-links.ts'
import { findPasswordWeakness } from '../../sign-in/password/password-rules.ts'
import { readFormField, readForm } from '../read-form.ts'
import { html, isolateName } from '../html.ts'
import { chooseLanguage, readPageTexts } from '../choose-language.ts'
import { renderMessagePage } from '../message-page.ts'
import { setOrganisationCookie } from '../organisation-cookie.ts'
import { renderButton, renderField, renderForm, renderSummary } from '../components/forms.ts'
import { type Organisation, type PageFacts, renderFrame } from '../components/page-layout.ts'
import { sendPage } from '../send-page.ts'
import type { PageTexts } from '../texts/en.ts'
import { readPageFacts, type PageRouteContext } from './page-route-context.ts'

/** Returns the routes of password-reset links: GET shows the form, POST changes the password. */
export const createPasswordRoutes = (pages: PageRouteContext): Router =>
  createLinkRoutes(
    {
      purpose: 'PASSWORD_RESET',
      action: '/account/password',
      operation: 'auth.resetPassword',
      needsPassword: () => true,
      renderPage: (pageFacts) => renderNewPasswordPage({ ...pageFacts, purpose: 'reset' }),
      useLink: ({ token, password = '' }, context) => resetPassword({ token, password }, context),
      signInAfterUse: () => '/account/password-changed',
    },
    pages,
  )

/**
 * Returns the routes of invitation links: GET shows an invitation, POST accepts it. Users without single sign-on choose
 * a password.
 */
export const createInvitationRoutes = (pages: PageRouteContext): Router =>
  createLinkRoutes(
    {
      purpose: 'INVITATION',
      action: '/account/invitation',
      operation: 'auth.acceptInvitation',
      needsPassword: ({ ssoAuth }) => !ssoAuth,
      renderPage: (pageFacts, { ssoAuth }) =>
        ssoAuth ? renderJoinPage(pageFacts) : renderNewPasswordPage({ ...pageFacts, purpose: 'invitation' }),
      useLink: acceptInvitation,
      signInAfterUse: ({ ssoAuth }) => `/account/${ssoAuth ? 'joined' : 'invitation-accepted'}`,
    },
    pages,
  )

type LinkUser = FoundLink['user']

/** A kind of one-time link, with its pages and its effect. */
interface LinkUse {
  purpose: LinkPurpose
  /** The path to which the form is sent. */
  action: string
  /** The name of the operation in the audit log. */
  operation: string
  /** Returns whether the user has to choose a password. Users with single sign-on only have to click. */
  needsPassword(user: LinkUser): boolean
  renderPage(pageFacts: Omit<NewPasswordFacts, 'purpose'>, user: LinkUser): string
  /**
   * Performs the action of the link, which invalidates it. Throws 422 at `/token` for an invalid link, and at
   * `/password` for a rejected password.
   */
  useLink(chosen: { token: string; password?: string }, context: LinkContext): Promise<void>
  /** Returns the path of the page after success. */
  signInAfterUse(user: LinkUser): string
}

/** Returns the routes of a kind of link: GET shows the page without using the link, POST uses it. */
function createLinkRoutes(
  { purpose, action, operation, needsPassword, renderPage, useLink, signInAfterUse }: LinkUse,
  { db, csrf, secure, prefix, audited }: PageRouteContext,
): Router {
  const show = (request: Request, response: Response, { user, token }: ShownLink, fieldErrors?: WrongPassword) => {
    const pageFacts = {
      prefix,
      action: prefix + action,
      csrf: csrf.issue(request, response),
      language: chooseLanguage(request),
      organisation: { name: user.clientName },
      user,
      hidden: { token },
      fieldErrors,
    }
    sendPage(response, fieldErrors ? 422 : 200, renderPage(pageFacts, user))
  }

  const routes = Router()
  routes.get(action, async (request, response) => {
    const { token } = request.query
    const link = await findRequestedLink(db, token, purpose)
    if (!link || typeof token !== 'string') return sendLinkEnded(request, response, purpose, prefix)
    show(request, response, { ...link, token })
  })
  routes.post(action, readForm, async (request, response) => {
    csrf.assertValid(request)
    const token = readFormField(request, 'token')
    const link = await findRequestedLink(db, token, purpose)
    if (!link) return sendLinkEnded(request, response, purpose, prefix)
    const { user } = link
    const password = readFormField(request, 'password')
    const texts = readPageTexts(chooseLanguage(request))
    const choosesPassword = needsPassword(user)
    const fieldErrors = choosesPassword
      ? checkNewPassword(password, readFormField(request, 'repeat'), texts)
      : undefined
    if (fieldErrors) return show(request, response, { ...link, token }, fieldErrors)
    try {
      const chosen = choosesPassword ? { token, password } : { token }
      await audited(operation, request, response, (context) => useLink(chosen, context))
    } catch (error) {
      const field = findRefusedField(error)
      if (field === 'password') {
        const weak = texts.newPassword[findPasswordWeakness(password, user) ?? 'common']
        return show(request, response, { ...link, token }, { password: weak })
      }
      if (field === 'token') return sendLinkEnded(request, response, purpose, prefix)
      throw error
    }
    setOrganisationCookie(response, { name: user.clientName }, secure)
    response.redirect(303, `${prefix}${signInAfterUse(user)}`)
  })
  return routes
}

type ShownLink = FoundLink & { token: string }

/** Finds the link of a request without using it up, because mail programs open links before users do. */
async function findRequestedLink(db: Kysely<DB>, token: unknown, purpose: LinkPurpose): Promise<FoundLink | undefined> {
  if (typeof token !== 'string' || !/^[\w-]{20,200}$/.test(token)) return undefined
  return findLink(db, token, purpose)
}

/**
 * Sends the page for a link that is not valid. It is the same for used, expired and unknown links, so that it reveals
 * nothing.
 */
function sendLinkEnded(request: Request, response: Response, purpose: LinkPurpose, prefix: string): void {
  const pageFacts = readPageFacts(request, prefix)
  const pageTexts = readPageTexts(pageFacts.language).link
  const page = renderMessagePage({
    ...pageFacts,
    title: pageTexts.title,
    status: 'problem',
    ...(purpose === 'INVITATION'
      ? { text: pageTexts.invitation }
      : { text: pageTexts.reset, link: { href: `${prefix}/account/forgot-password`, label: pageTexts.again } }),
  })
  sendPage(response, 404, page)
}

/** Returns the field of a validation error; undefined for other errors. */
function findRefusedField(error: unknown): string | undefined {
  return error instanceof Problem && error.status === 422 ? error.errors?.[0]?.pointer.slice(1) : undefined
}

interface LinkFacts extends PageFacts {
  action: string
  csrf: string
  organisation: Organisation
  user: { name: string; username: string }
  /** Hidden form fields, such as the token of the link. */
  hidden?: Record<string, string>
}

interface NewPasswordFacts extends LinkFacts {
  purpose: 'invitation' | 'reset'
  fieldErrors?: WrongPassword | undefined
}

/**
 * Returns the page with the form fields `password` and `repeat`. It also contains the username, so that password
 * managers save it.
 */
export function renderNewPasswordPage({
  action,
  csrf,
  user,
  purpose,
  hidden,
  fieldErrors,
  ...pageFacts
}: NewPasswordFacts) {
  const texts = readPageTexts(pageFacts.language)
  const pageTexts = texts.newPassword
  const invited = purpose === 'invitation'
  const title = invited ? pageTexts.invitationTitle : pageTexts.resetTitle
  const { min: minLength, max: maxLength } = passwordLength
  const who = html`<strong>${isolateName(user.name)}</strong>`
  return renderFrame({
    ...pageFacts,
    title,
    failed: fieldErrors !== undefined,
    main: html`<p class="lead">${invited ? pageTexts.invitationLead(who, html`<strong>${isolateName(pageFacts.organisation.name)}</strong>`) : pageTexts.resetLead(who)}</p>
${renderSummary(texts, undefined, fieldErrors)}
${renderForm({
  action,
  hidden: { ...hidden, csrf },
  main: html`${renderField({ name: 'username', label: texts.username, autocomplete: 'username', value: user.username, readonly: true })}
${renderField({
  name: 'password',
  label: pageTexts.label,
  type: 'password',
  autocomplete: 'new-password',
  error: fieldErrors?.password,
  hint: html`<ul>${pageTexts.rules(minLength, maxLength).map((rule) => html`<li>${rule}</li>`)}</ul>`,
})}
${renderField({ name: 'repeat', label: pageTexts.repeat, type: 'password', autocomplete: 'new-password', error: fieldErrors?.repeat })}
${renderButton(invited ? pageTexts.invitationSubmit : pageTexts.resetSubmit)}`,
})}`,
  })
}

/** The error messages by field. */
type WrongPassword = Partial<Record<'password' | 'repeat', string>>

/** Returns the errors of a new password and its repetition; undefined if the check finds none. */
function checkNewPassword(password: string, repeat: string, texts: PageTexts): WrongPassword | undefined {
  const pageTexts = texts.newPassword
  const { min: minLength, max: maxLength } = passwordLength
  const length = [...password].length
  if (length === 0) return { password: pageTexts.missing }
  if (length < minLength) return { password: pageTexts.tooShort(minLength) }
  if (length > maxLength) return { password: texts.tooLong(maxLength) }
  if (repeat === '') return { repeat: pageTexts.repeatMissing }
  return password === repeat ? undefined : { repeat: pageTexts.unequal }
}

/** Returns the invitation page for a user with single sign-on. Its form has no visible fields. */
export function renderJoinPage({ action, csrf, user, hidden, ...pageFacts }: LinkFacts): string {
  const { join: pageTexts, newPassword } = readPageTexts(pageFacts.language)
  return renderFrame({
    ...pageFacts,
    title: newPassword.invitationTitle,
    main: html`<p class="lead">${pageTexts.lead(html`<strong>${isolateName(user.name)}</strong>`, html`<strong>${isolateName(pageFacts.organisation.name)}</strong>`)}</p>
<p>${pageTexts.sso}</p>
${renderForm({ action, hidden: { ...hidden, csrf }, main: renderButton(pageTexts.submit) })}`,
  })
}
