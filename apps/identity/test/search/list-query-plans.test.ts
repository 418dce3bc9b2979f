import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { SearchRequest } from '@sluice/contracts'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import { mailRecords } from '../../src/api/mails/records.ts'
import type { IdentityRequestContext } from '../../src/api/operation-context.ts'
import { ssoClientConfigRecords } from '../../src/api/sso-client-configs/records.ts'
import type { DB } from '../../src/database.ts'
import { migrationsFolder } from '../../src/migrations.ts'

const clients = Array.from({ length: 10 }, () => randomUUID())
const client = clients[0]!
const queries: CompiledQuery[] = []
let database: TestDatabase
let db: Kysely<DB>
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }), log: ({ query }) => void queries.push(query) })
  const clientOf = sql`(${clients}::uuid[])[1 + n % 10]`
  await sql`
    insert into clients (uid, name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
    select uid, uid, uid, 'B', false, 'REGULAR', true, true, true, true from unnest(${clients}::uuid[]) as uid`.execute(
    db,
  )
  await sql`
    insert into users (client, name, username, username_skeleton, email, sso_auth, status, start_page)
    values (${client}, 'Ada', 'ada', 'ada', 'ada@example.org', false, 'ACTIVE', 'DEFAULT')`.execute(db)
  await sql`
    insert into mails (client, user_id, kind, recipient, subject, state, created_at, expires_at, finished_at)
    select ${clientOf}, id, 'INVITATION', email, 'Mail ' || n % 100, 'SENT', now() - make_interval(secs => n), now(), now()
    from users, generate_series(1, 20000) as n`.execute(db)
  await sql`
    insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
    select ${clientOf}, 'app-' || n, 'app-' || n, 'Application ' || n, '{}', '{}', '{}' from generate_series(1, 20000) as n`.execute(
    db,
  )
  await sql`analyze`.execute(db)
})
afterAll(async () => {
  await db?.destroy()
  await database?.drop()
})

it.each<[string, typeof mailRecords | typeof ssoClientConfigRecords, boolean, SearchRequest['order']]>([
  ['mails_client_created', mailRecords, false, ['created']],
  ['mails_client_created', mailRecords, false, ['created:desc']],
  ['mails_client_subject', mailRecords, false, undefined],
  ['mails_created', mailRecords, true, ['created:desc']],
  ['mails_subject', mailRecords, true, undefined],
  ['sso_client_configs_client_name', ssoClientConfigRecords, false, undefined],
  ['sso_client_configs_client_name', ssoClientConfigRecords, false, ['name:idesc']],
])('reads a page through the index %s', async (index, of, everything, order) => {
  const roles = everything ? ['ROLE_SUPER_ADMIN'] : ['ROLE_MANAGE_USER']
  const caller = {
    kind: 'session',
    inPerson: true,
    uid: randomUUID(),
    username: '',
    client,
    roles,
    userGroups: [],
    session: '',
  }
  queries.length = 0
  const context = { db, caller, request: { locales: [] } } as unknown as IdentityRequestContext
  await of.search(db, context, { order, paging: { total: false } })
  const { sql: text, parameters } = queries[0]!
  const { rows } = await db.executeQuery<{ 'QUERY PLAN': string }>(
    CompiledQuery.raw(`explain ${text}`, [...parameters]),
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toMatch(new RegExp(`Index (Only )?Scan (Backward )?using ${index} `))
  expect(plan).not.toMatch(/Sort|Seq Scan/)
})
