import { Router } from 'express'
import { endSessionOf, isRefreshToken } from '../../sign-in/refresh-tokens.ts'
import { fieldOf, readForm } from '../forms.ts'
import { languageOf } from '../language.ts'
import { rememberedOrganisation } from '../organisation-cookie.ts'
import { sendPage } from '../send-page.ts'
import { signedOutPage } from '../sign-out-pages.ts'
import type { PageRouteContext } from './page-route-context.ts'

/**
 * Handles the sign-out form of `signedInPage`. The form contains the refresh token, which no other site knows, so it needs
 * no CSRF token.
 */
export function signOutRoutes({ db, audited, prefix }: PageRouteContext): Router {
  const routes = Router()
  routes.post('/account/sign-out', readForm, async (request, response) => {
    const refreshToken = fieldOf(request, 'refreshToken')
    // Invented tokens must not fill the audit log.
    if (await isRefreshToken(db, refreshToken))
      await audited('auth.logout', request, response, ({ write, request: { audit } }) =>
        write(async (trx) => {
          const ended = await endSessionOf(trx, refreshToken)
          audit(ended?.session ?? null, { outcome: ended ? 'signed out' : 'unknown' }, ended?.by)
        }),
      )
    const facts = { prefix, language: languageOf(request), organisation: rememberedOrganisation(request) }
    sendPage(response, 200, signedOutPage(facts))
  })
  return routes
}
