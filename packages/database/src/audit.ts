import { sql, type Kysely } from 'kysely'

/** Who did what, when, from where. `details` holds before and after without secrets. */
export interface AuditEntry {
  operation: string
  /** The caller's uid, or null for somebody not signed in. */
  actor: string | null
  client: string | null
  /** The uid of the object concerned. */
  object: string | null
  requestId: string
  address: string
  details?: object
}

/** Appends one row to the service's `audit` table, in the transaction of the write it speaks of. */
export async function recordAudit(db: Kysely<any>, entry: AuditEntry): Promise<void> {
  await sql`
    insert into audit (operation, actor, client, object, request_id, address, details)
    values (${entry.operation}, ${entry.actor}, ${entry.client}, ${entry.object}, ${entry.requestId}, ${entry.address}, ${JSON.stringify(entry.details ?? {})})
  `.execute(db)
}
