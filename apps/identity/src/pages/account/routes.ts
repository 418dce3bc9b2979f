import { Router } from 'express'
import type { Kysely } from 'kysely'
import { problems } from '@sluice/http'
import type { Logger } from '@sluice/process'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { publicAddress } from '../../public-address.ts'
import { audited } from '../audited.ts'
import { csrfGuard } from '../../csrf.ts'
import type { PageRouteContext } from './page-route-context.ts'
import { doneRoutes } from './done-pages.ts'
import { formDeadline } from '../forms.ts'
import { forgotPasswordRoutes } from './forgot-password.ts'
import { invitationRoutes, passwordRoutes } from './one-time-links.ts'
import { brokenPages, problemPages } from '../problem-pages.ts'
import { signOutRoutes } from './sign-out.ts'
import { stylesheetRoutes } from '../stylesheet.ts'

/** Serves `/account/…`, the pages that links in mails open. */
export function pageRoutes({ db, config, logger }: { db: Kysely<DB>; config: Config; logger: Logger }): Router {
  const pages: PageRouteContext = {
    db,
    csrf: csrfGuard(config),
    ...publicAddress(config.IDENTITY_PUBLIC_URL),
    audited: audited(db, config),
    home: config.HOME_URL,
  }
  const routes = Router({ caseSensitive: true, strict: true })
  routes.use('/account', formDeadline(), (_request, response, next) => {
    response.locals.prefix = pages.prefix
    next()
  })
  routes.use(
    stylesheetRoutes(),
    invitationRoutes(pages),
    passwordRoutes(pages),
    forgotPasswordRoutes(pages),
    signOutRoutes(pages),
    doneRoutes(pages),
  )
  routes.use('/account', () => {
    throw problems.notFound('page')
  })
  routes.use(problemPages, brokenPages(logger))
  return routes
}
