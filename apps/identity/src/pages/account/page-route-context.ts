import type { Kysely } from 'kysely'
import type { CsrfGuard } from '../../csrf.ts'
import type { DB } from '../../database.ts'
import type { AuditedPageWrite } from '../audited.ts'
import type { PublicAddress } from '../../public-address.ts'

/** The dependencies of all page routes. */
export interface PageRouteContext extends PublicAddress {
  db: Kysely<DB>
  csrf: CsrfGuard
  audited: AuditedPageWrite
  /** The address where users sign in to work; empty if it is not configured. */
  home: string
}
