import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect, migrate } from '@sluice/database'
import { testDatabase } from '@sluice/testing'
import type { DB } from '../../src/database.ts'
import { migrationsFolder } from '../../src/migrations.ts'

it('the migration to user tallies indexes and counts existing users', async () => {
  await using database = await testDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  const first = '0001_clients_users_sessions.sql'
  await copyFile(join(migrationsFolder, first), join(folder, first))
  await migrate(database.url, folder)
  await rm(folder, { recursive: true })
  await using connection = connect<DB>(database.url, { name: 'upgrade-test' })
  const { db } = connection
  await sql`
    with client as (insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
      values ('Old', 'OLD', 'OLD', false, 'REGULAR', true, true, true, true) returning uid)
    insert into users (client, name, username, username_skeleton, email, sso_auth, status, start_page)
    select uid, 'Élodie ' || n, 'user-' || n, 'user-' || n, 'u@example.org', n % 3 = 0, case n % 2 when 0 then 'ACTIVE' else 'INACTIVE' end, 'DEFAULT'
    from client, generate_series(1, 30) as n`.execute(db)

  await migrate(database.url, migrationsFolder)
  const { rows: found } = await sql<{
    n: number
  }>`select count(*) as n from users where search_text like '%élodie 1%'`.execute(db)
  expect(found).toEqual([{ n: 11 }])
  const { rows: tallies } = await sql`
    select status, sso_auth, sum(total)::bigint as total from user_tallies group by 1, 2 order by 1, 2`.execute(db)
  expect(tallies).toEqual([
    { status: 'ACTIVE', sso_auth: false, total: 10 },
    { status: 'ACTIVE', sso_auth: true, total: 5 },
    { status: 'INACTIVE', sso_auth: false, total: 10 },
    { status: 'INACTIVE', sso_auth: true, total: 5 },
  ])
})
