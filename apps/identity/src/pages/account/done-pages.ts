import { Router } from 'express'
import { languageOf, textsIn } from '../language.ts'
import { messagePage } from '../message-page.ts'
import { rememberedOrganisation } from '../organisation-cookie.ts'
import type { PageRouteContext } from './page-route-context.ts'
import { sendPage } from '../send-page.ts'
import type { PageTexts } from '../texts/en.ts'

interface DonePage {
  title: string
  text: string
  /** Whether the user signs in next. */
  signsIn?: boolean
}

/** The final pages of each flow. Their addresses contain no data and can be reloaded. */
const donePages: Record<string, (texts: PageTexts) => DonePage> = {
  '/account/invitation-accepted': ({ newPassword: words }) => ({
    title: words.invitationDoneTitle,
    text: words.invitationDone,
    signsIn: true,
  }),
  '/account/joined': ({ join: words }) => ({ title: words.doneTitle, text: words.done, signsIn: true }),
  '/account/password-changed': ({ newPassword: words }) => ({
    title: words.resetDoneTitle,
    text: words.resetDone,
    signsIn: true,
  }),
  '/account/forgot-password-sent': ({ forgotPassword: words }) => ({ title: words.doneTitle, text: words.done }),
}

export function doneRoutes({ prefix, home }: PageRouteContext): Router {
  const routes = Router()
  for (const [path, wordsOf] of Object.entries(donePages)) {
    routes.get(path, (request, response) => {
      const language = languageOf(request)
      const organisation = rememberedOrganisation(request)
      const texts = textsIn(language)
      const { title, text, signsIn } = wordsOf(texts)
      const facts = { prefix, language, organisation, title, text, status: 'success' } as const
      sendPage(response, 200, messagePage({ ...facts, ...(signsIn && nextStep(home, texts)) }))
    })
  }
  return routes
}

/** Returns the link to `home`, where users sign in after an invitation or a new password, or a note if it is not set. */
const nextStep = (home: string, { next }: PageTexts) =>
  home ? { link: { href: home, label: next.signIn(new URL(home).host) } } : { note: next.ask }
