import { Router } from 'express'
import { endSessionOf } from '../sign-in/refresh-tokens.ts'
import { fieldOf, readForm } from '../pages/forms.ts'
import { languageOf } from '../pages/language.ts'
import { rememberedOrganisation } from '../pages/organisation-cookie.ts'
import { sendPage } from '../pages/send-page.ts'
import { signedOutPage } from '../pages/sign-out-pages.ts'
import type { Pages } from './routes.ts'

/** The form of the page that ends a sign-in at a provider. Its refresh token is what no other site knows, so it needs no other proof. */
export function signOutRoutes({ audited, prefix }: Pages): Router {
  const routes = Router()
  routes.post('/account/sign-out', readForm, async (request, response) => {
    await audited('auth.logout', request, response, ({ write, request: { audit } }) =>
      write(async (trx) => {
        const ended = await endSessionOf(trx, fieldOf(request, 'refreshToken'))
        audit(ended?.session ?? null, { outcome: ended ? 'signed out' : 'unknown' }, ended?.by)
      }),
    )
    const facts = { prefix, language: languageOf(request), organisation: rememberedOrganisation(request) }
    sendPage(response, 200, signedOutPage(facts))
  })
  return routes
}
