import { type Kysely, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import {
  type ListQuery,
  type SearchRequest,
  type OperationSignature,
  type TabularResult,
  hasRole,
  identityOperations,
  searchOf,
} from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { type SearchPlan, escapeLike, refusedSearch, searchPlan } from '@sluice/records'
import type { Audit, DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { type ReportColumn, readScopeName, buildTabularResult } from './tabular-result.ts'

type AuditRow = Selectable<Audit> & {
  client_code: string | null
  object_name: string | null
  outcome: string
}

/** The object's name when the row was written, because the object may be deleted. A membership shows group and user. */
const objectNameSql = sql<string | null>`coalesce(
  r.details #>> '{after,username}', r.details #>> '{before,username}', r.details #>> '{after,name}', r.details #>> '{before,name}',
  r.details #>> '{after,clientName}', r.details #>> '{before,clientName}',
  r.details #>> '{after,clientDomain}', r.details #>> '{before,clientDomain}',
  case when r.operation in ('userGroups.addMember', 'userGroups.removeMember')
    then concat(r.details ->> 'code', ': ', r.details ->> 'username') end)`

/** The outcome, which for a refused sign-in is the reason. A rejected write leaves no audit row. */
const outcomeSql = sql<string>`coalesce(r.details ->> 'outcome', 'done')`

const summaryByOperation: ReadonlyMap<string, string> = new Map(
  Object.values(identityOperations)
    .flatMap((noun): OperationSignature[] => Object.values(noun))
    .map(({ id, summary }) => [id, summary]),
)

/** The report omits the row number, because its gaps would reveal the activity of other clients. */
const auditColumns: ReportColumn<AuditRow>[] = [
  { name: 'When', column: 'at', valueType: 'TIMESTAMPTZ', cell: ({ at }) => at.toISOString() },
  { name: 'User id', column: 'user.id', valueType: 'VARCHAR_50', id: true, cell: ({ actor }) => actor },
  { name: 'Who', column: 'username', valueType: 'VARCHAR_255', cell: (row) => row.actor_name },
  { name: 'Client id', column: 'client.id', valueType: 'VARCHAR_50', id: true, cell: ({ client }) => client },
  { name: 'For client', column: 'client.code', valueType: 'VARCHAR_50', cell: (row) => row.client_code },
  { name: 'Operation', column: 'operation', valueType: 'VARCHAR_255', cell: ({ operation }) => operation },
  {
    name: 'What',
    column: 'summary',
    valueType: 'VARCHAR_255',
    cell: ({ operation }) => summaryByOperation.get(operation) ?? operation,
  },
  { name: 'Object id', column: 'object.id', valueType: 'VARCHAR_255', id: true, cell: ({ object }) => object },
  { name: 'Object', column: 'object.name', valueType: 'VARCHAR_255', cell: (row) => row.object_name },
  { name: 'Outcome', column: 'outcome', valueType: 'VARCHAR_255', cell: (row) => row.outcome },
  { name: 'From', column: 'address', valueType: 'VARCHAR_50', cell: ({ address }) => address },
  { name: 'Request', column: 'requestId', valueType: 'VARCHAR_255', cell: (row) => row.request_id },
  { name: 'Details', column: 'details', valueType: 'JSONB', cell: ({ details }) => details },
]

/** The searchable properties of the audit log. */
export const auditProperties = {
  at: { column: 'r.at', type: 'date-time' },
  operation: { column: 'r.operation', type: 'string' },
  username: { column: 'r.actor_name', type: 'string' },
  'user.id': { column: 'r.actor', type: 'uid' },
  'client.id': { column: 'r.client', type: 'uid' },
  'object.id': { column: 'r.object', type: 'string' },
  'object.name': { column: objectNameSql, type: 'string' },
  outcome: { column: outcomeSql, type: 'string' },
  address: { column: 'r.address', type: 'string' },
  requestId: { column: 'r.request_id', type: 'string' },
} as const

/** The maximum number of rows to count, because counting a log of several years takes longer than reading a page. */
const countedAtMost = 100_000

/** Returns one page of audit rows, newest first. */
export async function auditReport(query: ListQuery, input: IdentityRequestContext): Promise<TabularResult> {
  const { db, caller } = input
  const plan = parseAuditQuery(searchOf(query))
  const [{ rows }, total, subtitle] = await Promise.all([
    selectAuditPage(caller, plan).execute(db),
    plan.counted ? countAuditRows(db, caller, plan) : undefined,
    readScopeName(input),
  ])
  const { page, limit: pageSize } = plan
  return buildTabularResult(rows, {
    table: 'audit',
    title: 'Audit log',
    subtitle,
    columns: auditColumns,
    pager: { page, pageSize, total, totalIsAtLeast: total === countedAtMost },
  })
}

/** Parses an audit query. Throws 400. */
export function parseAuditQuery(request: SearchRequest): SearchPlan {
  const query = (text: string) => {
    const like = `%${escapeLike(text)}%`
    return sql<boolean>`(r.actor_name ilike ${like} or r.operation ilike ${like} or r.object ilike ${like}
      or r.request_id ilike ${like} or r.address ilike ${like} or ${objectNameSql} ilike ${like})`
  }
  try {
    return searchPlan(request, { properties: auditProperties, query, idColumn: 'r.id', defaultOrder: ['at:desc'] })
  } catch (error) {
    throw refusedSearch(error, true)
  }
}

type AuditReader = Pick<Caller, 'roles' | 'client'>

/**
 * Returns the conditions of the rows that a caller sees: all rows for a super admin, otherwise the rows of the caller's
 * client, and the rows of other clients about objects of that client. No row meets two conditions.
 */
const listVisibilityConditions = ({ roles, client }: AuditReader): RawBuilder<SqlBool>[] =>
  hasRole(roles, 'ROLE_SUPER_ADMIN') ? [sql`true`] : [sql`r.client = ${client}`, sql`r.object_client = ${client}`]

const selectMatchingRows = ({ where }: SearchPlan, visible: RawBuilder<SqlBool>) =>
  sql`from audit as r where ${sql.join([visible, ...where], sql` and `)}`

/**
 * Returns one page of the rows that a caller may see. Each part reads only the rows that the page can need, in index
 * order, because an `or` would make PostgreSQL read and sort all of a client's rows.
 */
export function selectAuditPage(caller: AuditReader, plan: SearchPlan): RawBuilder<AuditRow> {
  const order = sql.join(plan.order)
  const parts = listVisibilityConditions(caller).map(
    (visible) =>
      sql`(select r.* ${selectMatchingRows(plan, visible)} order by ${order} limit ${plan.offset + plan.limit})`,
  )
  return sql`
    select r.*, c.code as client_code, ${objectNameSql} as object_name, ${outcomeSql} as outcome
    from (
      select r.* from (${sql.join(parts, sql` union all `)}) as r order by ${order} limit ${plan.limit} offset ${plan.offset}
    ) as r left join clients c on c.uid = r.client
    order by ${order}`
}

async function countAuditRows(db: Kysely<DB>, caller: AuditReader, plan: SearchPlan): Promise<number> {
  const parts = listVisibilityConditions(caller).map((visible) => sql`select ${selectMatchingRows(plan, visible)}`)
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (${sql.join(parts, sql` union all `)} limit ${countedAtMost}) as counted`.execute(db)
  return rows[0]!.total
}
