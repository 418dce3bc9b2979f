import { randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import { transaction } from '@sluice/database'
import type { DB } from '../../database.ts'
import { endUnusedSession, type RequestAuditFacts, isOpenSession } from '../sessions/sessions.ts'
import type { SignedIn } from '../password/password-sign-in.ts'
import { hashSecret } from '../../stored-secrets.ts'

/** The lifetime of a ticket in seconds. */
const handoverTicketSeconds = 60

/** Issues a one-time ticket with which the interaction page takes over a session. */
export async function issueHandoverTicket(
  trx: Kysely<DB>,
  { session, interaction }: { session: { id: number }; interaction: string },
): Promise<string> {
  const ticket = randomBytes(32).toString('base64url')
  await sql`
    insert into sso_tickets (ticket_hash, session_id, interaction, expires_at)
    values (${hashSecret(ticket)}, ${session.id}, ${interaction}, now() + make_interval(secs => ${handoverTicketSeconds}))`.execute(
    trx,
  )
  return ticket
}

interface HandoverRow {
  user: string
  user_id: number
  client: string
  session: string
  session_id: number
  expires_at: Date
  amr: string[]
  is_valid: boolean
}

/**
 * Uses up a ticket and returns its user and session. Returns undefined if the ticket is unknown, used, older than a
 * minute or for another interaction, or if the session has ended. An expired ticket, or one for another interaction,
 * may be stolen, so its session ends.
 */
export function consumeHandoverTicket(
  db: Kysely<DB>,
  ticket: string,
  interaction: string,
  auditContext: RequestAuditFacts,
): Promise<Omit<SignedIn, 'kind'> | undefined> {
  return transaction(db, async (trx) => {
    const { rows } = await sql<HandoverRow>`
      with used_ticket as (
        delete from sso_tickets where ticket_hash = ${hashSecret(ticket)}
        returning session_id, interaction, expires_at
      )
      select users.uid as user, users.id as user_id, users.client,
        sessions.uid as session, sessions.id as session_id, sessions.expires_at, sessions.amr,
        used_ticket.interaction = ${interaction} and used_ticket.expires_at > now() and users.status = 'ACTIVE'
          as is_valid
      from used_ticket
      join sessions on sessions.id = used_ticket.session_id
      join users on users.id = sessions.user_id
      where ${isOpenSession}`.execute(trx)
    const [row] = rows
    if (!row) return undefined
    const user = { uid: row.user, id: row.user_id, client: row.client }
    const session = { id: row.session_id, uid: row.session, expires_at: row.expires_at }
    if (row.is_valid) return { user, session, amr: row.amr }
    await endUnusedSession(trx, { user, session }, 'its ticket was late, or for another page', auditContext)
    return undefined
  })
}
