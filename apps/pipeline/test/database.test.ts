import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { brokenDatabaseRules, testDatabase, type TestDatabase } from '@sluice/testing'
import { runProgram } from './start-program.ts'
import { connected } from '@sluice/warehouses/testing/scratch-warehouse'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase({ migrations: join(import.meta.dirname, '../migrations') })
})
afterAll(() => database?.drop())

const environment = (url: string) => ({
  PIPELINE_DATABASE_URL: url,
  WAREHOUSE_DATABASE_URL: url,
  SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/nowhere',
})

describe('pipeline database', () => {
  it('follows the schema rules of the project', async () => {
    expect(await brokenDatabaseRules(database.url)).toEqual([])
  })

  it('rejects updates and deletions in the audit log', async () => {
    await using db = await connected(database.url)
    await db.query(`insert into audit (operation, request_id, address, details) values ('test', '', '', '{}')`)
    await expect(db.query(`update audit set operation = 'nothing'`)).rejects.toThrow('never changed')
    await expect(db.query('delete from audit')).rejects.toThrow('never changed')
  })

  it('is migrated by one command, also concurrently and repeatedly, but not from a newer version', async () => {
    await using empty = await testDatabase()
    const migrate = () => runProgram('pipeline/bin/migrate.ts', environment(empty.url))
    expect((await Promise.all([migrate(), migrate()])).toSorted()).toEqual([
      expect.stringMatching(/^Applied 0001_/),
      'The database is up to date.\n',
    ])
    expect(await migrate()).toBe('The database is up to date.\n')
    await using db = await connected(empty.url)
    await db.query(`insert into migrations (name, checksum) values ('9999_future.sql', '')`)
    await expect(migrate()).rejects.toThrow(
      'ended with 1:\nThe database was migrated by a newer version (9999_future.sql is not known here): run that version or a later one.\n',
    )
    expect((await db.query(`select name from pgboss.queue where name = 'runs'`)).rowCount).toBe(1)
  })
})
