import { Router } from 'express'
import type { Kysely } from 'kysely'
import { problems } from '@sluice/http-server'
import type { Logger } from '@sluice/process'
import type { Config } from '../../config.ts'
import { createCsrfGuard } from '../../csrf.ts'
import type { DB } from '../../database.ts'
import { parsePublicAddress } from '../../public-address.ts'
import { endSessionOfToken, refreshTokenExists } from '../../sign-in/sessions/refresh-tokens.ts'
import { type PageContext, auditPageWrites } from '../audited-page-writes.ts'
import { readFormField, formDeadline, readForm } from '../read-form.ts'
import { readPageTexts } from '../choose-language.ts'
import { renderMessagePage } from '../message-page.ts'
import { showInternalErrors, problemPages } from '../problem-pages.ts'
import { sendPage } from '../send-page.ts'
import { renderSignedOutPage } from '../sign-out-pages.ts'
import { createStylesheetRoutes } from '../stylesheet.ts'
import type { PageTexts } from '../texts/en.ts'
import { createForgotPasswordRoutes } from './forgot-password.ts'
import { createInvitationRoutes, createPasswordRoutes } from './one-time-link-pages.ts'
import { readPageFacts, type PageRouteContext } from './page-route-context.ts'

/** Returns the routes of `/account/…`, the pages that links in mails open. */
export function createPageRoutes({ db, config, logger }: { db: Kysely<DB>; config: Config; logger: Logger }): Router {
  const pages: PageRouteContext = {
    db,
    csrf: createCsrfGuard(config),
    ...parsePublicAddress(config.IDENTITY_PUBLIC_URL),
    audited: auditPageWrites(db, config),
    home: config.HOME_URL,
  }
  const routes = Router({ caseSensitive: true, strict: true })
  routes.use('/account', formDeadline(), (_request, response, next) => {
    response.locals.prefix = pages.prefix
    next()
  })
  routes.use(
    createStylesheetRoutes(),
    createInvitationRoutes(pages),
    createPasswordRoutes(pages),
    createForgotPasswordRoutes(pages),
    createSignOutRoutes(pages),
    createFinalPageRoutes(pages),
  )
  routes.use('/account', () => {
    throw problems.notFound('page')
  })
  routes.use(problemPages, showInternalErrors(logger))
  return routes
}

/**
 * Handles the sign-out form of `renderTokenPage`. The form needs no CSRF token, because it contains the refresh token,
 * which no other site knows.
 */
function createSignOutRoutes({ db, audited, prefix }: PageRouteContext): Router {
  const routes = Router()
  routes.post('/account/sign-out', readForm, async (request, response) => {
    const refreshToken = readFormField(request, 'refreshToken')
    // Audit requests with an existing token only; otherwise an attacker could fill the audit log with invented tokens.
    if (await refreshTokenExists(db, refreshToken))
      await audited('auth.logout', request, response, (context) => signOut(refreshToken, context))
    sendPage(response, 200, renderSignedOutPage(readPageFacts(request, prefix)))
  })
  return routes
}

/** The last page of each flow. Their addresses contain no data, so users can reload them. */
const finalPages: Record<string, (texts: PageTexts) => { title: string; text: string }> = {
  '/account/invitation-accepted': ({ newPassword: pageTexts }) => ({
    title: pageTexts.invitationDoneTitle,
    text: pageTexts.invitationDone,
  }),
  '/account/joined': ({ newPassword, join }) => ({ title: newPassword.invitationDoneTitle, text: join.done }),
  '/account/password-changed': ({ newPassword: pageTexts }) => ({
    title: pageTexts.resetDoneTitle,
    text: pageTexts.resetDone,
  }),
  '/account/forgot-password-sent': ({ forgotPassword: pageTexts }) => ({
    title: pageTexts.doneTitle,
    text: pageTexts.done,
  }),
}

const signOut = (refreshToken: string, { write, request }: PageContext): Promise<void> =>
  write(async (trx) => {
    const ended = await endSessionOfToken(trx, refreshToken)
    // Maintenance may have deleted the token since the check.
    const outcome = ended ? 'signed out' : 'unknown'
    request.audit(ended?.session ?? null, { outcome }, ended?.actor)
  })

/** Returns the routes of the pages that confirm a completed step, such as a changed password. */
function createFinalPageRoutes({ prefix, home }: PageRouteContext): Router {
  const routes = Router()
  for (const [path, selectTexts] of Object.entries(finalPages))
    routes.get(path, (request, response) => {
      const pageFacts = readPageFacts(request, prefix)
      const texts = readPageTexts(pageFacts.language)
      // After requesting a link, users have to open their mail, so the page has no sign-in link.
      const next = path === '/account/forgot-password-sent' ? {} : renderSignInLink(home, texts)
      sendPage(response, 200, renderMessagePage({ ...pageFacts, ...selectTexts(texts), status: 'success', ...next }))
    })
  return routes
}

/** Returns the link to `home`, the address where users sign in, or a note if it is not set. */
const renderSignInLink = (home: string, { next }: PageTexts) =>
  home ? { link: { href: home, label: next.signIn(new URL(home).host) } } : { note: next.ask }
