import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type ListQuery, type TabularResult, hasRole, identityOperations } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { type SearchPlan, createAuditReport } from '@sluice/records'
import type { IdentityRequestContext } from '../operation-context.ts'
import { readScopeName } from './report-subtitle.ts'

/** Selects the name of the changed object from the audit details. A membership is named by its group and its user. */
const objectName = sql<string | null>`coalesce(
  r.details #>> '{after,username}', r.details #>> '{before,username}', r.details #>> '{after,name}', r.details #>> '{before,name}',
  r.details #>> '{after,clientName}', r.details #>> '{before,clientName}',
  r.details #>> '{after,clientDomain}', r.details #>> '{before,clientDomain}',
  case when r.operation in ('userGroups.addMember', 'userGroups.removeMember')
    then concat(r.details ->> 'code', ': ', r.details ->> 'username') end)`

const audit = createAuditReport({
  operations: identityOperations,
  objectName,
  time: { column: 'r.at', type: 'date-time' },
})

/** The searchable properties of the audit log. */
export const auditProperties = audit.properties
export const parseAuditQuery = audit.parseQuery

/** Returns one page of audit rows, newest first. */
export async function readAuditReport(query: ListQuery, input: IdentityRequestContext): Promise<TabularResult> {
  const { db, caller } = input
  return audit.report(query, {
    db,
    visible: listVisibilityConditions(caller),
    subtitle: await readScopeName(input),
    async readClientCodes(uids) {
      const { rows } = await sql<{ uid: string; code: string }>`
        select uid, code from clients where uid = any(${uids})`.execute(db)
      return new Map(rows.map(({ uid, code }) => [uid, code]))
    },
  })
}

type AuditReader = Pick<Caller, 'roles' | 'client'>

/**
 * Returns the conditions for the rows that a caller may see. Super admins see all rows. Others see the rows of their
 * own organisation, and rows of other organisations about its objects. No row meets two conditions.
 */
const listVisibilityConditions = ({ roles, client }: AuditReader): RawBuilder<SqlBool>[] =>
  hasRole(roles, 'ROLE_SUPER_ADMIN') ? [sql`true`] : [sql`r.client = ${client}`, sql`r.object_client = ${client}`]

export const selectAuditPage = (caller: AuditReader, plan: SearchPlan) =>
  audit.selectPage(listVisibilityConditions(caller), plan)
