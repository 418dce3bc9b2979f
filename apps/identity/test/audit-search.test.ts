import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sql, type Kysely } from 'kysely'
import type { Role, SearchRequest } from '@sluice/contracts'
import { addAuditPartitions, connect } from '@sluice/database'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import { selectAuditPage, parseAuditQuery } from '../src/api/reports/audit.ts'
import type { DB } from '../src/database.ts'
import { migrationsFolder } from '../src/migrations.ts'

const client = randomUUID()
const other = randomUUID()

let database: TestDatabase
let db: Kysely<DB>
/** Three months of audit entries of two clients. Some entries of the second client also belong to the first. */
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  db = connect<DB>(database.url, { name: 'identity-test', statementTimeout: 120_000 }).db
  await addAuditPartitions(db, new Date('2020-01-01'))
  await sql`
    insert into audit (at, operation, client, object, request_id, address, details)
    select timestamptz '2020-01-01' + n * interval '6 minutes', 'users.update',
      case when n % 2 = 0 then ${client}::uuid else ${other}::uuid end, n::text, n::text, '192.0.2.1',
      case when n % 200 = 1 then jsonb_build_object('after', jsonb_build_object('client', ${client}::text)) else '{}' end
    from generate_series(1, 20000) n`.execute(db)
  await sql`analyze audit`.execute(db)
})
afterAll(async () => {
  await db?.destroy()
  await database?.drop()
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** The tables that a search reads, and the number of rows that it reads from them. */
async function measureReads(roles: Role[], request: Partial<SearchRequest>) {
  const page = selectAuditPage({ roles, client }, parseAuditQuery({ paging: {}, ...request }))
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (analyze, format json) ${page}`.execute(db)
  const scans: Plan[] = []
  const walk = (plan: Plan) => {
    if (plan['Relation Name']?.startsWith('audit') && plan['Actual Loops'] > 0) scans.push(plan)
    plan.Plans?.forEach(walk)
  }
  walk(rows[0]!['QUERY PLAN'][0].Plan)
  return {
    tables: [...new Set(scans.map((plan) => plan['Relation Name']))].toSorted(),
    rows: scans.reduce((sum, plan) => sum + plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0), 0),
  }
}

describe('audit search', () => {
  const people: [string, Role[]][] = [
    ['an auditor', ['ROLE_SEE_AUDIT_LOG']],
    ['a super admin', ['ROLE_SUPER_ADMIN']],
  ]

  it.each(people)('by %s reads only about as many rows as it returns from a long log', async (_who, roles) => {
    expect((await measureReads(roles, {})).rows).toBeLessThan(300)
    expect((await measureReads(roles, { paging: { page: 5, pageSize: 50 } })).rows).toBeLessThan(700)
  })

  it.each(people)('by %s reads only the partitions of the filtered months', async (_who, roles) => {
    const february = ['at:ge:2020-02-01', 'at:lt:2020-03-01']
    const ofFebruary = await measureReads(roles, { filter: february })
    expect(ofFebruary.tables).toEqual(['audit_2020_02'])
    expect(ofFebruary.rows).toBeLessThan(300)
    const withOperation = await measureReads(roles, { filter: [...february, 'operation:ne:users.update'] })
    expect(withOperation.tables).toEqual(['audit_2020_02'])
  })

  it('finds the entries of an object and of a user through an index', async () => {
    expect((await measureReads(['ROLE_SUPER_ADMIN'], { filter: ['object.id:eq:777'] })).rows).toBeLessThan(50)
    expect((await measureReads(['ROLE_SUPER_ADMIN'], { filter: [`user.id:eq:${other}`] })).rows).toBeLessThan(50)
  })
})
