import type { Request, Response } from 'express'
import type { Kysely } from 'kysely'
import type { Interaction, Provider } from 'oidc-provider'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import type { Audited } from '../../pages/audited.ts'
import type { Csrf } from '../../csrf.ts'

/** One request to a page of a sign-in that an application began. */
export interface Step {
  db: Kysely<DB>
  config: Config
  csrf: Csrf
  audited: Audited
  provider: Provider
  interaction: Interaction
  application: {
    id: string
    name: string
    tenant: string
    organisation: string
    /** All that are registered for it. */
    scopes: readonly string[]
  }
  /** Where browsers are led in the end, which their policy for forms has to allow. */
  target: string
  /** The path of our public address, without a slash at its end. */
  prefix: string
  /** The path of this interaction's pages. */
  base: string
  language: string
  request: Request
  response: Response
}

/** What an audit row says of the request. */
export const factsOf = ({ request, response }: Step) => ({
  requestId: String(response.locals.requestId),
  address: request.ip ?? '',
})
