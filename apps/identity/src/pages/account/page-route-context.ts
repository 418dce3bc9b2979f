import type { Request } from 'express'
import type { Kysely } from 'kysely'
import type { CsrfGuard } from '../../csrf.ts'
import type { DB } from '../../database.ts'
import type { AuditedPageWrite } from '../audited-page-writes.ts'
import { chooseLanguage } from '../choose-language.ts'
import { readOrganisationCookie } from '../organisation-cookie.ts'
import type { PageFacts } from '../components/page-layout.ts'
import type { PublicAddress } from '../../public-address.ts'

/** The dependencies of all page routes. */
export interface PageRouteContext extends PublicAddress {
  db: Kysely<DB>
  csrf: CsrfGuard
  audited: AuditedPageWrite
  /** The setting `HOME_URL`, the address where users sign in; empty if it is not set. */
  home: string
}

/** Returns the page options of a request, with the organisation from the cookie. */
export const readPageFacts = (request: Request, prefix: string): PageFacts & { language: string } => ({
  prefix,
  language: chooseLanguage(request),
  organisation: readOrganisationCookie(request),
})
