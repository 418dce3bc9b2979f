import { Router } from 'express'
import { languageOf, textsIn } from './language.ts'
import { messagePage } from './message-page.ts'
import { rememberedOrganisation } from './organisation-cookie.ts'
import type { Pages } from './routes.ts'
import { sendPage } from './send-page.ts'
import type { Texts } from './texts/en.ts'

/** What one is told afterwards, at addresses that hold nothing and can be loaded again. */
const pages: Record<string, (texts: Texts) => { title: string; text: string }> = {
  '/account/invitation-accepted': ({ newPassword: words }) => ({
    title: words.invitationDoneTitle,
    text: words.invitationDone,
  }),
  '/account/joined': ({ join: words }) => ({ title: words.doneTitle, text: words.done }),
  '/account/password-changed': ({ newPassword: words }) => ({ title: words.resetDoneTitle, text: words.resetDone }),
  '/account/forgot-password-sent': ({ forgotPassword: words }) => ({ title: words.doneTitle, text: words.done }),
}

export function doneRoutes({ prefix }: Pages): Router {
  const routes = Router()
  for (const [path, wordsOf] of Object.entries(pages)) {
    routes.get(path, (request, response) => {
      const language = languageOf(request)
      const organisation = rememberedOrganisation(request)
      const words = wordsOf(textsIn(language))
      sendPage(response, 200, messagePage({ prefix, language, organisation, ...words, status: 'success' }))
    })
  }
  return routes
}
