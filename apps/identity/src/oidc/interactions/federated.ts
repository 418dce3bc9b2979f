import { sql } from 'kysely'
import { textsIn } from '../../pages/language.ts'
import { endSession } from '../../sign-in/sessions.ts'
import { takeTicket } from '../../sign-in/federated/tickets.ts'
import type { Step } from '../interactions.ts'
import { words } from '../words.ts'
import { enter } from './finish.ts'
import { showPassword } from './password.ts'

/** Where else people of the application's organisation sign in, as links that come back to this interaction. */
export async function providersOf({
  db,
  application,
  interaction,
  prefix,
}: Step): Promise<{ href: string; label: string }[]> {
  const { rows } = await sql<{ code: string; domain: string }>`
    select c.code, p.client_domain as domain from sso_provider_configs p join clients c on c.uid = p.client
    where p.client = ${application.tenant} and p.client_id is not null`.execute(db)
  return rows.map(({ code, domain }) => ({
    href: `${prefix}/api/v1/auth/sso/${encodeURIComponent(code)}?interaction=${encodeURIComponent(interaction.uid)}`,
    label: domain,
  }))
}

/** Whoever comes back from there brings a ticket for the session that was opened for them, or nothing that helps. */
export async function takeFederated(step: Step): Promise<void> {
  const { db, request, interaction, application, language } = step
  const { ticket } = request.query
  const entered = typeof ticket === 'string' ? await takeTicket(db, ticket, interaction.uid) : undefined
  if (entered?.user.client === application.tenant) return enter(step, entered)
  if (entered) await endSession(db, entered.session.uid, 'SIGNED_OUT')
  // What it is exactly is in the audit. Nothing that stands in an address is shown.
  const message = entered || request.query['problem'] === undefined ? textsIn(language).signIn.refused : words.federated
  await showPassword(step, 401, { message })
}
