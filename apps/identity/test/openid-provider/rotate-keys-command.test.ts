import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { connect } from '@sluice/database'
import { testDatabase, type TestDatabase } from '@sluice/testing'
import type { DB } from '../../src/database.ts'
import { migrationsFolder } from '../../src/migrations.ts'

let database: TestDatabase
let connection: ReturnType<typeof connect<DB>>
beforeAll(async () => {
  database = await testDatabase({ migrations: migrationsFolder })
  connection = connect<DB>(database.url, { name: 'identity-test' })
})
afterAll(async () => {
  await connection.db.destroy()
  await database.drop()
})

const keys = `test:${randomBytes(32).toString('base64')}`
const run = async (...flags: string[]) => {
  const command = join(import.meta.dirname, '../../bin/rotate-keys.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [command, ...flags], {
    env: { PATH: process.env['PATH'], IDENTITY_DATABASE_URL: database.url, SECRET_KEYS: keys },
  })
  return stdout
}
const states = async () =>
  (await sql<{ state: string }>`select state from signing_keys order by state`.execute(connection.db)).rows.map(
    ({ state }) => state,
  )

it('the rotate-keys command publishes the next key, rotates on request, and deletes previous keys', async () => {
  expect(await run()).toMatch(/is published but does not sign yet.*--at-once/)
  expect(await states()).toEqual(['CURRENT', 'NEXT'])
  expect(await run('--at-once')).toMatch(/^Key [\w-]+ signs all new tokens from now on\.\n$/)
  expect(await states()).toEqual(['CURRENT', 'NEXT', 'PREVIOUS'])
  expect(await run('--at-once', '--forget-previous')).toContain('Deleted 2 previous keys')
  expect(await states()).toEqual(['CURRENT', 'NEXT'])
  await expect(run('--surprise')).rejects.toThrow()
})
