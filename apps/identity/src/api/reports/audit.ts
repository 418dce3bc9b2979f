import { sql, type Kysely, type RawBuilder } from 'kysely'
import { holds, searchOf, type ListQuery, type SearchRequest, type TabularResult } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { escaped, InvalidSearch, searchPlan, type SearchPlan } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { auditColumns, objectName, outcome, type AuditRow } from './audit-columns.ts'
import { scopeName } from './scope-name.ts'
import { tabular } from './tabular.ts'

const properties = {
  id: { column: 'r.id', type: 'number' },
  at: { column: 'r.at', type: 'date-time' },
  operation: { column: 'r.operation', type: 'string' },
  username: { column: 'r.actor_name', type: 'string' },
  'user.id': { column: 'r.actor', type: 'uid' },
  'client.id': { column: 'r.client', type: 'uid' },
  'object.id': { column: 'r.object', type: 'string' },
  'object.name': { column: objectName, type: 'string' },
  outcome: { column: outcome, type: 'string' },
  address: { column: 'r.address', type: 'string' },
  requestId: { column: 'r.request_id', type: 'string' },
} as const

/** Pages do not go further either, and to count a log of years would take longer than to read it. */
const countedAtMost = 100_000

/** Who did what, when, from where: newest first, one page. */
export async function auditReport(query: ListQuery, input: Asked): Promise<TabularResult> {
  const { db, caller } = input
  const plan = planOf(searchOf(query))
  const [rows, total, subtitle] = await Promise.all([
    pageOf(db, caller, plan),
    plan.counted ? count(db, caller, plan) : undefined,
    scopeName(input),
  ])
  const { page, limit: pageSize } = plan
  return tabular(rows, {
    table: 'audit',
    title: 'Audit log',
    subtitle,
    columns: auditColumns,
    pager: { page, pageSize, total, totalIsAtLeast: total === countedAtMost },
  })
}

function planOf(request: SearchRequest): SearchPlan {
  const query = (text: string) => {
    const like = `%${escaped(text)}%`
    return sql<boolean>`(r.actor_name ilike ${like} or r.operation ilike ${like} or r.object ilike ${like}
      or r.request_id ilike ${like} or r.address ilike ${like} or ${objectName} ilike ${like})`
  }
  try {
    return searchPlan(request, { properties, query, idColumn: 'r.id', defaultOrder: ['at:desc'] })
  } catch (error) {
    throw error instanceof InvalidSearch ? problems.malformed(error.violations) : error
  }
}

/**
 * What was done for the caller's client and what was done to it from another, which no row is both: two ordered index
 * scans that PostgreSQL merges, where an `or` would make it read and sort all of the client's rows.
 */
function visibleTo({ roles, client }: Caller): RawBuilder<unknown> {
  if (holds(roles, 'ROLE_SUPER_ADMIN')) return sql`audit as r`
  return sql`(select * from audit where client = ${client} union all
    select * from audit where object_client = ${client}) as r`
}

const conditions = ({ where }: SearchPlan) => (where.length > 0 ? sql`where ${sql.join(where, sql` and `)}` : sql``)

async function pageOf(db: Kysely<DB>, caller: Caller, plan: SearchPlan): Promise<AuditRow[]> {
  const { rows } = await sql<AuditRow>`
    select r.*, c.code as client_code, ${objectName} as object_name, ${outcome} as outcome
    from (
      select r.* from ${visibleTo(caller)} ${conditions(plan)}
      order by ${sql.join(plan.order)} limit ${plan.limit} offset ${plan.offset}
    ) as r left join clients c on c.uid = r.client
    order by ${sql.join(plan.order)}`.execute(db)
  return rows
}

async function count(db: Kysely<DB>, caller: Caller, plan: SearchPlan): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (
      select from ${visibleTo(caller)} ${conditions(plan)} limit ${countedAtMost}) as counted`.execute(db)
  return rows[0]!.total
}
