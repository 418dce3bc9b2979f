import type { Request, Response } from 'express'
import { type Kysely, sql } from 'kysely'
import type { Interaction, Provider } from 'oidc-provider'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import type { AuditedPageWrite } from '../../pages/audited-page-writes.ts'
import type { CsrfGuard } from '../../csrf.ts'
import type { Organisation } from '../../pages/components/page-layout.ts'
import { transaction } from '@sluice/database'
import { endUnusedSession } from '../../sign-in/sessions/sessions.ts'

/** A request to a page of a sign-in that an application started. */
export interface InteractionStep {
  db: Kysely<DB>
  config: Config
  csrf: CsrfGuard
  audited: AuditedPageWrite
  provider: Provider
  interaction: Interaction
  application: {
    id: string
    name: string
    /**
     * The uid of the organisation that users must belong to. Undefined for a built-in application, which admits all
     * users.
     */
    tenant: string | undefined
    organisation: Organisation | undefined
    /** All scopes that the application is registered for. */
    scopes: readonly string[]
  }
  /** The origin of the redirect URI, which the page's `form-action` policy must allow. Empty for the device flow. */
  targets: readonly string[]
  /** The path of the public address, without a trailing slash. */
  prefix: string
  /** The path of this interaction's pages. */
  base: string
  language: string
  request: Request
  response: Response
}

/** Returns the properties of a request for its audit row. */
export const readAuditFacts = ({ request, response }: InteractionStep) => ({
  requestId: String(response.locals.requestId),
  address: request.ip ?? '',
})

interface CompletedLogin {
  user: { uid: string; client: string }
  session: { uid: string }
  amr: string[]
}

/**
 * Continues the application's authorization request as the signed-in user. If this user was already signed in and only
 * authenticated again, keeps the previous session and ends the new one.
 */
export async function finishLogin(step: InteractionStep, { user, session, amr }: CompletedLogin): Promise<void> {
  const { db, provider, interaction, request, response } = step
  const previous = interaction.session
  const isSameUser = previous?.accountId === user.uid
  const previousSession = isSameUser && previous.uid !== session.uid ? previous.uid : undefined
  if (previousSession !== undefined) {
    await transaction(db, async (trx) => {
      await endUnusedSession(trx, { user, session }, 'an open session goes on', readAuditFacts(step))
      await sql`update sessions set last_used_at = now() where uid = ${previousSession}`.execute(trx)
    })
  }
  // The cookie ends when the browser is closed, because several people may share the computer.
  const remember = false
  const login = {
    remember,
    accountId: user.uid,
    session: previousSession ?? session.uid,
    amr,
    ts: Math.floor(Date.now() / 1000),
  }
  await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false })
}
