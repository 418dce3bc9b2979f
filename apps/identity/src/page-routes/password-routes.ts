import type { Router } from 'express'
import { resetPassword } from '../api/auth/reset-password.ts'
import { newPasswordPage } from '../pages/new-password-page.ts'
import { linkRoutes } from './link-routes.ts'
import type { Pages } from './routes.ts'

/** GET shows the form for a new password to whoever has a link, POST changes it. */
export const passwordRoutes = (pages: Pages): Router =>
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
