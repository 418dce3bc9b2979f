import { describe, expect, it } from '@jest/globals'
import { testDatabase } from '@sluice/testing'
import { freePort } from '@sluice/testing/free-port'
import { runProgram, startProgram } from './start-program.ts'
import { connected } from '@sluice/warehouses/testing/scratch-warehouse'

const environment = (url: string, port: number) => ({
  PIPELINE_DATABASE_URL: url,
  WAREHOUSE_DATABASE_URL: url,
  SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/tmp',
  PIPELINE_PORT: String(port),
  WORKER_PORT: String(port),
})

describe('database with the wrong migrations', () => {
  it.each(['serve', 'run-worker'])('is rejected by bin/%s.ts, even if only one migration is missing', async (name) => {
    await using empty = await testDatabase()
    const started = async () => {
      const program = startProgram(`pipeline/bin/${name}.ts`, environment(empty.url, await freePort()))
      return [await program.ended, program.output()]
    }
    const refused = [
      1,
      expect.stringMatching(/^The database of PIPELINE_DATABASE_URL is not migrated \(.*0003_.*run bin\/migrate\.ts/),
    ]
    expect(await started()).toEqual(refused)
    await runProgram('pipeline/bin/migrate.ts', { PIPELINE_DATABASE_URL: empty.url })
    await using db = await connected(empty.url)
    await db.query(`delete from migrations where name like '0003\\_%'`)
    expect(await started()).toEqual(refused)
  })

  it('is rejected by bin/migrate.ts with one message if a newer version migrated it', async () => {
    await using empty = await testDatabase()
    await runProgram('pipeline/bin/migrate.ts', { PIPELINE_DATABASE_URL: empty.url })
    await using db = await connected(empty.url)
    await db.query(`insert into migrations (name, checksum) values ('0999_later.sql', '')`)
    const program = startProgram('pipeline/bin/migrate.ts', { PIPELINE_DATABASE_URL: empty.url })
    expect(await program.ended).toBe(1)
    expect(program.output()).toMatch(/^The database was migrated by a newer version \(0999_later\.sql .*\.\n$/)
  })
})
