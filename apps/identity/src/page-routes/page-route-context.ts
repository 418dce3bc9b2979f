import type { Kysely } from 'kysely'
import type { Csrf } from '../csrf.ts'
import type { DB } from '../database.ts'
import type { Audited } from '../pages/audited.ts'
import type { PublicAddress } from '../public-address.ts'

/** The dependencies of all page routes. */
export interface PageRouteContext extends PublicAddress {
  db: Kysely<DB>
  csrf: Csrf
  audited: Audited
  /** The address where users sign in to work; empty if it is not configured. */
  home: string
}
