import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals'
import { Client } from 'pg'
import { testDatabase } from './test-database.ts'

const folders: string[] = []
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

const folderWith = (sql: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-migrations-'))
  folders.push(folder)
  writeFileSync(join(folder, '0001_first.sql'), sql)
  return folder
}

const ask = async (connectionString: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const server = process.env['TEST_DATABASE_URL'] ?? ''
const databases = (pattern: string) => ask(server, `select datname from pg_database where datname like '${pattern}'`)
const nameOf = (url: string): string => new URL(url).pathname.slice(1)

describe('a test database', () => {
  afterEach(() => {
    process.env['TEST_DATABASE_URL'] = server
  })

  it('is a separate copy of a template that is migrated once for concurrent callers', async () => {
    const migrations = folderWith('create table thing (name text); insert into thing values (gen_random_uuid())')
    const all = await Promise.all(Array.from({ length: 6 }, () => testDatabase({ migrations })))
    const names = await Promise.all(all.map(({ url }) => ask(url, 'select name from thing')))
    // The migration ran once: every copy has the value that it drew.
    expect(new Set(names.map(([row]) => row?.['name'])).size).toBe(1)
    expect(new Set(all.map(({ url }) => url)).size).toBe(6)
    await ask(all[0]!.url, 'drop table thing')
    expect(await ask(all[1]!.url, 'select count(*)::int as things from thing')).toEqual([{ things: 1 }])
    await Promise.all(all.map((database) => database.drop()))
    for (const { url } of all) expect(await databases(nameOf(url))).toEqual([])
  })

  it('has the tables of a migration that was added later', async () => {
    const migrations = folderWith('create table before ()')
    await (await testDatabase({ migrations })).drop()
    writeFileSync(join(migrations, '0002_second.sql'), 'create table after ()')
    await using database = await testDatabase({ migrations })
    expect(await ask(database.url, 'select from after')).toEqual([])
  })

  it('contains the rows of a template step, which runs once per input', async () => {
    const migrations = folderWith('create table thing (name text)')
    const applied: string[] = []
    const stepOf = (input: string) => ({
      inputs: [input],
      async apply(url: string) {
        applied.push(input)
        await ask(url, `insert into thing values ('${input}')`)
      },
    })
    for (const input of ['one', 'other', 'one']) {
      await using database = await testDatabase({ migrations, step: stepOf(input) })
      expect(await ask(database.url, 'select name from thing')).toEqual([{ name: input }])
    }
    expect(applied).toEqual(['one', 'other'])
    await using plain = await testDatabase({ migrations })
    expect(await ask(plain.url, 'select name from thing')).toEqual([])
  })

  it('can be dropped while a client is connected', async () => {
    const database = await testDatabase()
    const client = new Client({ connectionString: database.url })
    client.on('error', () => {})
    await client.connect()
    await database.drop()
    expect(await databases(nameOf(database.url))).toEqual([])
  })

  it('is removed by the next test database only if its owner has exited', async () => {
    await using alive = await testDatabase()
    await ask(server, 'create database sluice_test_left_over')
    await using next = await testDatabase()
    expect(next.url).not.toBe(alive.url)
    // A concurrent test file may remove it instead of this one.
    for (const end = Date.now() + 10_000; Date.now() < end; await sleep(50))
      if ((await databases('sluice_test_left_over')).length === 0) break
    expect(await databases('sluice_test_left_over')).toEqual([])
    expect(await databases(nameOf(alive.url))).toHaveLength(1)
  })

  it('is kept with SLUICE_KEEP_DATABASES, and its URL is printed', async () => {
    const print = jest.spyOn(process.stderr, 'write').mockReturnValue(true)
    process.env['SLUICE_KEEP_DATABASES'] = '1'
    const kept = await testDatabase()
    delete process.env['SLUICE_KEEP_DATABASES']
    await kept.drop()
    expect(print).toHaveBeenCalledWith(
      `Kept for as long as the test server runs: ${kept.url} (packages/testing/src/test-database.test.ts)\n`,
    )
    print.mockRestore()
    await using next = await testDatabase()
    expect(next.url).not.toBe(kept.url)
    expect(await ask(kept.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await ask(server, `drop database ${nameOf(kept.url)}`)
  })

  it('rejects with the error of a failing migration on every call, and leaves no template', async () => {
    const migrations = folderWith(`do $$ begin raise 'failed in %.', current_database(); end $$`)
    for (let calls = 0; calls < 2; calls += 1) {
      const { message } = await testDatabase({ migrations }).then(
        () => new Error('no error'),
        (error: Error) => error,
      )
      const [, template = ''] = /failed in (sluice_template_\w+)_unfinished\./.exec(message) ?? []
      expect([message, template]).toEqual([message, expect.stringMatching(/^sluice_template_\w+$/)])
      expect(await databases(`${template}%`)).toEqual([])
    }
  })

  it('names the command to run if TEST_DATABASE_URL is not set', async () => {
    delete process.env['TEST_DATABASE_URL']
    await expect(testDatabase()).rejects.toThrow(/npm test --/)
  })
})
