import { sql, type Kysely, type RawBuilder, type SqlBool } from 'kysely'
import { holds, searchOf, type ListQuery, type SearchRequest, type TabularResult } from '@sluice/contracts'
import type { Caller } from '@sluice/http'
import { escaped, refusedSearch, searchPlan, type SearchPlan } from '@sluice/records'
import type { DB } from '../../database.ts'
import type { Asked } from '../operation.ts'
import { auditColumns, objectName, outcome, type AuditRow } from './audit-columns.ts'
import { scopeName } from './scope-name.ts'
import { tabular } from './tabular.ts'

/** What the audit is searched by. */
export const auditProperties = {
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
  const [{ rows }, total, subtitle] = await Promise.all([
    auditPage(caller, plan).execute(db),
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

/** What a request asks of the audit. Throws 400. */
export function planOf(request: SearchRequest): SearchPlan {
  const query = (text: string) => {
    const like = `%${escaped(text)}%`
    return sql<boolean>`(r.actor_name ilike ${like} or r.operation ilike ${like} or r.object ilike ${like}
      or r.request_id ilike ${like} or r.address ilike ${like} or ${objectName} ilike ${like})`
  }
  try {
    return searchPlan(request, { properties: auditProperties, query, idColumn: 'r.id', defaultOrder: ['at:desc'] })
  } catch (error) {
    throw refusedSearch(error, true)
  }
}

type Seer = Pick<Caller, 'roles' | 'client'>

/** Of which rows a caller sees all: of everything, or of their client and of what was done to it from another. No row is of two. */
const visibleTo = ({ roles, client }: Seer): RawBuilder<SqlBool>[] =>
  holds(roles, 'ROLE_SUPER_ADMIN') ? [sql`true`] : [sql`r.client = ${client}`, sql`r.object_client = ${client}`]

const selected = ({ where }: SearchPlan, visible: RawBuilder<SqlBool>) =>
  sql`from audit as r where ${sql.join([visible, ...where], sql` and `)}`

/**
 * One page of what a caller may see. Each part is cut to what the page can need of it, in the order of an index: an `or`
 * would make PostgreSQL read and sort all of a client's rows.
 */
export function auditPage(caller: Seer, plan: SearchPlan): RawBuilder<AuditRow> {
  const order = sql.join(plan.order)
  const parts = visibleTo(caller).map(
    (visible) => sql`(select r.* ${selected(plan, visible)} order by ${order} limit ${plan.offset + plan.limit})`,
  )
  return sql`
    select r.*, c.code as client_code, ${objectName} as object_name, ${outcome} as outcome
    from (
      select r.* from (${sql.join(parts, sql` union all `)}) as r order by ${order} limit ${plan.limit} offset ${plan.offset}
    ) as r left join clients c on c.uid = r.client
    order by ${order}`
}

async function count(db: Kysely<DB>, caller: Seer, plan: SearchPlan): Promise<number> {
  const parts = visibleTo(caller).map((visible) => sql`select ${selected(plan, visible)}`)
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (${sql.join(parts, sql` union all `)} limit ${countedAtMost}) as counted`.execute(db)
  return rows[0]!.total
}
