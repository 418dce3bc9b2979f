import { pipelineOperations } from '@sluice/contracts'
import { createAuditReport, isUid } from '@sluice/records'
import { sql } from 'kysely'
import { definePipelineOperation } from '../operation-context.ts'
import { lookUpUsernames } from '../record-fields.ts'

/** The search of the audit log, as a tabular report. */
export const auditLog = createAuditReport({
  operations: pipelineOperations,
  // If a table belongs to no object, its export is listed under the name of the table.
  objectName: sql<string | null>`coalesce(
    r.details #>> '{after,name}', r.details #>> '{before,name}', r.details ->> 'key',
    (r.details ->> 'schema') || '.' || (r.details ->> 'name'))`,
  time: { column: 'r.at', type: 'date-time', required: true },
})

export const auditOperations = {
  list: definePipelineOperation(pipelineOperations.audit.list, async ({ query, db, caller, identity }) => {
    // If the identity service is unavailable, show the log without the name and code of the organisation.
    const client = await identity.client(caller.client).catch(() => undefined)
    return auditLog.report(query, {
      db,
      // Super admins too see only the log of the organisation for which they act.
      visible: [sql`r.client = ${caller.client}`],
      subtitle: client?.name ?? '',
      readClientCodes: async () => new Map(client ? [[client.id, client.code]] : []),
      readUsernames: (uids) => lookUpUsernames(uids, identity),
      async readObjectNames(uids) {
        const { rows } = await sql<{ uid: string; name: string }>`
          select uid, name from runnables where uid = any(${uids.filter(isUid)}::uuid[]) and client = ${caller.client}`.execute(
          db,
        )
        const names = new Map(rows.map(({ uid, name }) => [uid, name]))
        return (uid) => names.get(uid)
      },
    })
  }),
}
