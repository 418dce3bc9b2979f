import { sql, type Kysely, type RawBuilder } from 'kysely'
import { prepared } from './prepared-statements.ts'

/** An entry of the audit log. `details` contains the values before and after the operation, without secrets. */
export interface AuditEntry {
  operation: string
  /** The caller's uid, or null for a request without a token. */
  actor: string | null
  /** The actor's name at that time. The identity service leaves it out, because its database adds it. */
  actorName?: string | null
  client: string | null
  /** The uid of the object that the operation concerns. */
  object: string | null
  requestId: string
  address: string
  details?: object
}

/** Appends one row to the service's `audit` table. Call it in the transaction of the audited write. */
export async function recordAudit(db: Kysely<any>, entry: AuditEntry): Promise<void> {
  await sql`
    ${prepared('record-audit')}
    insert into audit (operation, actor, actor_name, client, object, request_id, address, details)
    values (${entry.operation}, ${entry.actor}, ${entry.actorName ?? null}, ${entry.client}, ${entry.object}, ${entry.requestId}, ${entry.address}, ${JSON.stringify(entry.details ?? {})})
  `.execute(db)
}

/** The number of rows per statement. Its parameters stay well below the protocol's maximum of 65,535. */
const insertBatchSize = 1_000

/** Appends several audit rows in their order, in batches. */
export async function recordAudits(db: Kysely<any>, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 1) return recordAudit(db, entries[0]!)
  for (let position = 0; position < entries.length; position += insertBatchSize) {
    const rows = entries
      .slice(position, position + insertBatchSize)
      .map(({ operation, actor, actorName = null, client, object, requestId, address, details }) => ({
        operation,
        actor,
        actor_name: actorName,
        client,
        object,
        request_id: requestId,
        address,
        details: JSON.stringify(details ?? {}),
      }))
    await db.insertInto('audit').values(rows).execute()
  }
}

/** The request data for an audit row. */
export type AuditContext = Pick<AuditEntry, 'operation' | 'requestId' | 'address'>

/**
 * Returns an INSERT of audit rows, for the WITH clause of a statement that writes the data and its audit rows together.
 * `auditedRows` is a SELECT with four columns: actor, client (organisation), object and details.
 */
export const auditInsert = ({ operation, requestId, address }: AuditContext, auditedRows: RawBuilder<unknown>) => sql`
  insert into audit (operation, actor, client, object, request_id, address, details)
  select ${operation}, actor, client, object, ${requestId}, ${address}, details
  from (${auditedRows}) as audited (actor, client, object, details)`
