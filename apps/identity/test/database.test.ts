import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { sql, type Kysely } from 'kysely'
import { connect, keyRing } from '@sluice/database'
import { brokenDatabaseRules, testDatabase, type TestDatabase } from '@sluice/testing'
import type { DB } from '../src/database.ts'
import { createFirstAdmin, hasUsers, generatePassword } from '../src/commands/create-first-admin.ts'
import { runMaintenanceOnce } from '../src/maintenance/maintenance.ts'
import { assertMigrated, migrationsFolder } from '../src/migrations.ts'
import { isCommonPassword } from '../src/sign-in/password/password-rules.ts'
import { createSigningKeys } from '../src/sign-in/tokens/signing-keys.ts'

let database: TestDatabase
let db: Kysely<DB>
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  db = connect<DB>(database.url, { name: 'identity-test' }).db
})
afterAll(async () => {
  await db.destroy()
  await database.drop()
})

const ring = (id: string, byte: number) => keyRing(`${id}:${Buffer.alloc(32, byte).toString('base64')}`)

describe('the database schema', () => {
  it('follows the database rules of the project', async () => {
    expect(await brokenDatabaseRules(database.url)).toEqual([])
  })

  it('rejects updates and deletions of audit rows', async () => {
    await sql`insert into audit (operation, request_id, address, details) values ('test', '', '', '{}')`.execute(db)
    await expect(sql`update audit set operation = 'nothing'`.execute(db)).rejects.toThrow('never changed')
    await expect(sql`delete from audit`.execute(db)).rejects.toThrow('never changed')
  })

  it('gets audit partitions for the next two months once, and keeps the current month in the default partition', async () => {
    await Promise.all([runMaintenanceOnce(db), runMaintenanceOnce(db)])
    await runMaintenanceOnce(db)
    const { rows } = await sql<{ name: string }>`
      select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit'::regclass order by 1`.execute(
      db,
    )
    const now = new Date()
    const next = [1, 2].map((ahead) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)))
    expect(rows.map(({ name }) => name)).toEqual([
      ...next.map((month) => `audit_${month.toISOString().slice(0, 7).replace('-', '_')}`),
      'audit_default',
    ])
    await sql`insert into audit (at, operation, request_id, address, details) values (now() + interval '1 month', 'test', '', '', '{}')`.execute(
      db,
    )
    await expect(sql`delete from audit where at > now()`.execute(db)).rejects.toThrow('never changed')
  })

  it('deletes sessions that ended long ago, and remembers that sessions existed', async () => {
    const { rows } = await sql<{ id: number }>`
      with client as (insert into clients (name, code, billing_code, disabled, domain, manager_enabled, routes_enabled, pipelines_enabled, enterprise_enabled)
        values ('Old', 'OLD', 'OLD', false, 'REGULAR', true, true, true, true) returning uid),
      u as (insert into users (client, name, username, username_skeleton, email, sso_auth, status, start_page)
        select uid, 'Old', 'old', 'old', '', false, 'INACTIVE', 'DEFAULT' from client returning id, client)
      insert into sessions (user_id, client, expires_at, roles_at_issue, address, address_prefix, user_agent)
      select id, client, now() - interval '31 days', '{}', '', '', '' from u returning user_id as id`.execute(db)
    await runMaintenanceOnce(db)
    const after =
      await sql`select service_intro, (select count(*) from sessions) as sessions from users where id = ${rows[0]!.id}`.execute(
        db,
      )
    expect(after.rows).toEqual([{ service_intro: false, sessions: 0 }])
    await sql`delete from users`.execute(db)
    await sql`delete from clients`.execute(db)
  })

  it('is rejected at start when it is not migrated', async () => {
    await using empty = await testDatabase()
    await using connection = connect<DB>(empty.url, { name: 'identity-test' })
    await expect(assertMigrated(connection.db)).rejects.toThrow('run bin/migrate.ts')
    await assertMigrated(db)
  })
})

describe('the first admin', () => {
  it('is created once by concurrent commands', async () => {
    const created = await Promise.all([1, 2, 3, 4].map(() => createFirstAdmin(db, generatePassword())))
    expect(created.filter(Boolean)).toHaveLength(1)
    expect(await hasUsers(db)).toBe(true)
    const { rows } =
      await sql`select u.username, u.status, cardinality(u.roles) as roles, c.code from users u join clients c on c.uid = u.client`.execute(
        db,
      )
    expect(rows).toEqual([{ username: 'admin', status: 'ACTIVE', roles: 38, code: 'SLUICE' }])
  })

  it('gets a readable password that is not a common one', () => {
    const password = generatePassword()
    expect(password).toMatch(/^[a-z2-9]{4}(-[a-z2-9]{4}){5}$/)
    expect(isCommonPassword(password)).toBe(false)
  })
})

describe('signing keys', () => {
  it('are created once when several processes start at the same time', async () => {
    const keys = await Promise.all([1, 2, 3, 4].map(() => createSigningKeys(db, ring('a', 1)).current()))
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1)
  })

  it('are all published, including a key created because none is current', async () => {
    const before = await createSigningKeys(db, ring('a', 1)).current()
    await sql`update signing_keys set state = 'PREVIOUS'`.execute(db)
    const keys = createSigningKeys(db, ring('a', 1))
    const { kid } = await keys.current()
    expect(kid).not.toBe(before.kid)
    for (const reader of [keys, createSigningKeys(db, ring('a', 1))])
      expect((await reader.published()).keys.map((key) => key.kid)).toEqual([before.kid, kid])
    // Two processes find no current key at the same time.
    await sql`update signing_keys set state = 'PREVIOUS'`.execute(db)
    const both = [1, 2].map(() => createSigningKeys(db, ring('a', 1)))
    const [one, two] = await Promise.all(both.map((created) => created.current()))
    expect(one!.kid).toBe(two!.kid)
    for (const created of both)
      expect((await created.published()).keys.map((key) => key.kid)).toEqual([before.kid, kid, one!.kid])
  })

  it('are read again after ten idle minutes, before a token with a withdrawn key is accepted', async () => {
    const idling = createSigningKeys(db, ring('a', 1))
    expect((await idling.published()).keys.length).toBeGreaterThan(1)
    await sql`delete from signing_keys where state = 'PREVIOUS'`.execute(db)
    const now = performance.now()
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now + 11 * 60_000)
    try {
      expect((await idling.published()).keys).toEqual([expect.objectContaining({ kid: (await idling.current()).kid })])
    } finally {
      clock.mockRestore()
    }
  })

  it('cause an error that names the cause when the key ring is a different one', async () => {
    await expect(createSigningKeys(db, ring('b', 2)).current()).rejects.toThrow('Add it to SECRET_KEYS')
    await expect(createSigningKeys(db, ring('a', 2)).current()).rejects.toThrow('cannot be decrypted')
  })
})
