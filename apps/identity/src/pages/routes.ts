import { Router } from 'express'
import type { Kysely } from 'kysely'
import { problems } from '@sluice/http'
import type { Logger } from '@sluice/process'
import type { Config } from '../config.ts'
import type { DB } from '../database.ts'
import { audited, type Audited } from './audited.ts'
import { csrfGuard, type Csrf } from './csrf.ts'
import { doneRoutes } from './done-routes.ts'
import { forgotPasswordRoutes } from './forgot-password-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { passwordRoutes } from './password-routes.ts'
import { brokenPages, problemPages } from './problem-pages.ts'
import { stylesheetRoutes } from './stylesheet.ts'

/** What the routes of the pages have in common. */
export interface Pages {
  db: Kysely<DB>
  csrf: Csrf
  /** Cookies are for https alone. */
  secure: boolean
  /** The path of our public address, without a slash at its end: whoever hands requests on to us takes it off. */
  prefix: string
  audited: Audited
}

/** `/account/…`: the pages that people come to by a link from a mail. */
export function pageRoutes({ db, config, logger }: { db: Kysely<DB>; config: Config; logger: Logger }): Router {
  const { protocol, pathname } = new URL(config.IDENTITY_PUBLIC_URL)
  const pages: Pages = {
    db,
    csrf: csrfGuard(config),
    secure: protocol === 'https:',
    prefix: pathname.replace(/\/$/, ''),
    audited: audited(db, config),
  }
  const routes = Router({ caseSensitive: true, strict: true })
  routes.use('/account', (_request, response, next) => {
    response.locals.prefix = pages.prefix
    next()
  })
  routes.use(
    stylesheetRoutes(),
    invitationRoutes(pages),
    passwordRoutes(pages),
    forgotPasswordRoutes(pages),
    doneRoutes(pages),
  )
  routes.use('/account', () => {
    throw problems.notFound('page')
  })
  routes.use(problemPages, brokenPages(logger))
  return routes
}
