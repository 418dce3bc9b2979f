import { randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { hashSecret } from '../../stored-secrets.ts'

/** The lifetime of a ticket in seconds: the time between entering the password and the code. */
const ticketLifetimeSeconds = 300

/** Issues a ticket, which proves in the second step that the password was correct. Stores only its hash. */
export async function issueTicket(trx: Kysely<DB>, user: number): Promise<string> {
  const ticket = `slt_${randomBytes(32).toString('base64url')}`
  await sql`
    insert into second_factor_tickets (ticket_hash, user_id, expires_at)
    values (${hashSecret(ticket)}, ${user}, now() + make_interval(secs => ${ticketLifetimeSeconds}))`.execute(trx)
  return ticket
}

/** Returns the owner of a ticket; undefined if it is unknown or expired. */
export async function findTicketOwner(db: Kysely<DB>, ticket: string) {
  const { rows } = await sql<{ id: number; uid: string; client: string }>`
    select users.id, users.uid, users.client from second_factor_tickets tickets join users on users.id = tickets.user_id
    where tickets.ticket_hash = ${hashSecret(ticket)} and tickets.expires_at > now()`.execute(db)
  return rows[0]
}

/** Uses up a ticket. Returns true for only one of several concurrent uses. */
export async function consumeTicket(trx: Kysely<DB>, ticket: string): Promise<boolean> {
  const { rows } = await sql`
    delete from second_factor_tickets where ticket_hash = ${hashSecret(ticket)} and expires_at > now()
    returning true`.execute(trx)
  return rows.length > 0
}

export async function endTicketsOfUser(trx: Kysely<DB>, user: number): Promise<void> {
  await sql`delete from second_factor_tickets where user_id = ${user}`.execute(trx)
}
