import type { Router } from 'express'
import { acceptInvitation } from '../api/auth/accept-invitation.ts'
import { joinPage } from '../pages/join-page.ts'
import { newPasswordPage } from '../pages/new-password-page.ts'
import { linkRoutes } from './link-routes.ts'
import type { Pages } from './routes.ts'

/** GET shows an invitation, POST accepts it: with a password, or with nothing but a click where sign-in is elsewhere. */
export const invitationRoutes = (pages: Pages): Router =>
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
