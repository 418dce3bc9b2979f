import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql, type Kysely } from 'kysely'
import { connect, keyRing } from '@sluice/database'
import { brokenSealRules, testDatabase, type TestDatabase } from '@sluice/testing'
import type { DB } from '../src/database.ts'
import { migrationsFolder } from '../src/migrations.ts'
import { sealedColumns } from '../src/stored-secrets.ts'
import { createSigningKeys } from '../src/sign-in/tokens/signing-keys.ts'

const app = resolve(import.meta.dirname, '..')
const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`

let database: TestDatabase
let db: Kysely<DB>
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  db = connect<DB>(database.url, { name: 'identity-test' }).db
})
afterAll(async () => {
  await db?.destroy()
  await database?.drop()
})

it('the list of sealed columns contains every sealed column of the schema', async () => {
  expect(await brokenSealRules(app, database.url, sealedColumns)).toEqual([])
  const broken = await brokenSealRules(app, database.url, [{ table: 'users', key: 'name', column: 'nowhere' }])
  for (const expected of [
    'signing_keys.private_key',
    'the column seed',
    'users.nowhere is not a text column of a table with a unique key',
  ])
    expect(broken.map((one) => one.replaceAll('^', ''))).toContainEqual(expect.stringContaining(expected))
})

it('the reseal command encrypts all secrets with the new key, so that the old key can be removed', async () => {
  const before = await createSigningKeys(db, keyRing(key('old', 1))).current()
  const reseal = (SECRET_KEYS: string) =>
    promisify(execFile)(process.execPath, [resolve(app, 'bin/reseal-secrets.ts')], {
      env: { PATH: process.env['PATH'], IDENTITY_DATABASE_URL: database.url, SECRET_KEYS },
    })
  const wrong = await reseal(key('new', 2)).catch((error: { code: number; stdout: string }) => error)
  expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining('encrypted with key "old"') })
  const { stdout } = await reseal(`${key('new', 2)},${key('old', 1)}`)
  expect(stdout).toContain('signing_keys.private_key: 1 resealed')
  const after = await createSigningKeys(db, keyRing(key('new', 2))).current()
  expect(after.kid).toBe(before.kid)
  const { rows } = await sql<{ private_key: string }>`select private_key from signing_keys`.execute(db)
  expect(rows[0]!.private_key).toMatch(/^new\./)
})
