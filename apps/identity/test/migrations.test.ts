import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { createContractChecker, ClientSummary } from '@sluice/contracts'
import { connect, migrate } from '@sluice/database'
import { testDatabase } from '@sluice/testing'
import type { DB } from '../src/database.ts'
import { migrationsFolder } from '../src/migrations.ts'
import { toSkeleton } from '../src/sign-in/username.ts'

/** A database with the migrations up to this number, as an earlier version left it. */
async function databaseUpTo(number: string) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-migrations-'))
  await cp(migrationsFolder, folder, {
    recursive: true,
    filter: (file) => !/\d{4}_\w+\.sql$/.test(file) || file.slice(migrationsFolder.length + 1, -4) < `${number}~`,
  })
  const database = await testDatabase({ migrations: folder })
  await rm(folder, { recursive: true })
  return database
}

it('replaces stored codes of organisations and user groups that the pipeline service cannot read', async () => {
  await using database = await databaseUpTo('0012')
  await using connection = connect<DB>(database.url, { name: 'identity-test' })
  const { db } = connection
  await sql`
    insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
    values ('Lines', E'a\nb', E'a\tb', false, 'REGULAR', true, true, true, true),
      ('Blank', '   ', ' ', false, 'REGULAR', true, true, true, true),
      ('Plain', 'PLAIN', 'PLAIN', false, 'REGULAR', true, true, true, true)`.execute(db)
  await sql`
    insert into user_groups (client, name, code)
    select uid, g.code, g.code from clients, (values ('TEAM'), ('team'), (E'a\nb'), (' ')) as g(code)
    where clients.code = 'PLAIN'`.execute(db)
  await migrate(database.url, migrationsFolder)

  const clients = await sql<{ name: string; code: string; billing_code: string; uid: string }>`
    select name, code, billing_code, uid from clients order by id`.execute(db)
  const start = (index: number) => clients.rows[index]!.uid.slice(0, 8)
  expect(clients.rows.map(({ name, code, billing_code }) => [name, code, billing_code])).toEqual([
    ['Lines', `a_b-${start(0)}`, 'a_b'],
    ['Blank', `C-${start(1)}`, `C-${start(1)}`],
    ['Plain', 'PLAIN', 'PLAIN'],
  ])
  for (const { uid, code, name } of clients.rows)
    expect(
      createContractChecker(ClientSummary)({
        id: uid,
        code,
        name,
        disabled: false,
        domain: 'REGULAR',
        pipelinesEnabled: true,
        timeZone: 'UTC',
      }),
    ).not.toHaveProperty('violations')
  const groups = await sql<{ code: string }>`select code from user_groups order by id`.execute(db)
  expect(groups.rows.map(({ code }) => code.replace(/-[0-9a-f]{8}$/, '-uid'))).toEqual([
    'TEAM',
    'team-uid',
    'a_b-uid',
    'G-uid',
  ])
})

it('records deleted organisations from the audit log', async () => {
  await using database = await databaseUpTo('0012')
  await using connection = connect<DB>(database.url, { name: 'identity-test' })
  const { db } = connection
  const uid = '2f1c8f0e-5f0b-4c7e-9b44-0d9c7e1f5a10'
  await sql`
    insert into audit (operation, object, request_id, address, details)
    values ('clients.delete', ${uid}, 'r', 'a', '{"before": {"code": "GONE", "name": "Gone"}}'),
      ('clients.create', gen_random_uuid()::text, 'r', 'a', '{}')`.execute(db)
  await migrate(database.url, migrationsFolder)
  const { rows } = await sql`select uid, code, name from deleted_clients`.execute(db)
  expect(rows).toEqual([{ uid, code: 'GONE', name: 'Gone' }])
})

describe('the built-in applications', () => {
  it('have the skeletons with which ids of applications are compared', async () => {
    await using database = await testDatabase({ migrations: migrationsFolder })
    await using connection = connect<DB>(database.url, { name: 'identity-test' })
    const { rows } = await sql<{ id: string; skeleton: string }>`
      select sso_client_id as id, sso_client_id_skeleton as skeleton from sso_client_configs order by 1`.execute(
      connection.db,
    )
    expect(rows).toEqual(['cli', 'console'].map((id) => ({ id, skeleton: toSkeleton(id) })))
  })

  it.each(['console', 'CLI'])(
    'stop the migration if an application is registered as %s, which says what to do',
    async (id) => {
      await using database = await databaseUpTo('0015')
      await using connection = connect<DB>(database.url, { name: 'identity-test' })
      const { db } = connection
      await sql`
      with client as (
        insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
        values ('A', 'A', 'A', false, 'REGULAR', true, true, true, true) returning uid)
      insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
      select uid, ${id}, ${toSkeleton(id)}, 'Old', '{https://app.example/}', '{openid}', '{authorization_code}' from client`.execute(
        db,
      )
      await expect(migrate(database.url, migrationsFolder)).rejects.toThrow(
        `An application is registered with the id "${id}", which is now reserved.`,
      )
      await sql`update sso_client_configs set sso_client_id = 'renamed', sso_client_id_skeleton = 'renamed'`.execute(db)
      expect(await migrate(database.url, migrationsFolder)).toEqual(['0016_built_in_applications.sql'])
    },
  )
})
