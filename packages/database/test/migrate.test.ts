import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { migrate, MigrationProblem } from '../src/index.ts'

const server = process.env['TEST_DATABASE_URL']
if (!server) throw new Error('This test needs PostgreSQL: run it with npm test.')

let folder: string
let url: string
let name: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-migrations-'))
  name = `migrate_${process.pid}_${Date.now()}`
  url = Object.assign(new URL(server), { pathname: `/${name}` }).href
  await asked(server, `create database ${name}`)
  file('0001_things', 'create table things (id int)')
  file('0002_more', 'create table more (id int)')
})
afterEach(async () => {
  rmSync(folder, { recursive: true })
  await asked(server, `drop database ${name} with (force)`)
})

const file = (name: string, sql: string) => writeFileSync(join(folder, `${name}.sql`), sql)

async function asked(url: string, sql: string): Promise<any[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe('migrate', () => {
  it('applies each new migration once, in order', async () => {
    file('README', 'not one of them')
    expect(await migrate(url, folder)).toEqual(['0001_things.sql', '0002_more.sql'])
    expect(await migrate(url, folder)).toEqual([])
    file('0003_last', 'alter table more add column name text')
    expect(await migrate(url, folder)).toEqual(['0003_last.sql'])
    expect(await asked(url, 'select name from migrations order by applied_at, name')).toHaveLength(3)
  })

  it('applies each migration once if four calls start at the same time', async () => {
    file('0003_slow', 'select pg_sleep(0.2); create table slow (id int)')
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(url, folder)))
    expect(applied.map(({ length }) => length).toSorted()).toEqual([0, 0, 0, 3])
  })

  it('builds an index concurrently in one of four calls, while the others wait', async () => {
    file('0003_index', '-- without a transaction\ncreate index concurrently things_id on things (id);\n')
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(url, folder)))
    expect(applied.map(({ length }) => length).toSorted()).toEqual([0, 0, 0, 3])
    const built = "select indisvalid from pg_index where indexrelid = 'things_id'::regclass"
    expect(await asked(url, built)).toEqual([{ indisvalid: true }])
  })

  it('repeats all statements of a migration without a transaction after a failure between them', async () => {
    const repeatable =
      '-- without a transaction\ndrop index if exists things_id;\ncreate index things_id on things (id);\n'
    file('0003_index', `${repeatable}select * from later;\n`)
    await expect(migrate(url, folder)).rejects.toThrow('Migration 0003_index.sql failed: relation "later"')
    expect(await asked(url, "select to_regclass('things_id')::text as name")).toEqual([{ name: 'things_id' }])
    await asked(url, 'create table later (id int)')
    expect(await migrate(url, folder)).toEqual(['0003_index.sql'])
  })

  it('rolls back a failed migration, keeps the earlier ones, and names the failed file', async () => {
    file('0003_bad', 'create table half (id int); select nonsense')
    file('0004_never', 'create table never (id int)')
    const failure = await migrate(url, folder).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(MigrationProblem)
    expect((failure as Error).message).toMatch(/^Migration 0003_bad.sql failed: column "nonsense"/)
    const tables = await asked(url, `select relname from pg_class where relname in ('things', 'more', 'half', 'never')`)
    expect(tables.map(({ relname }) => relname).toSorted()).toEqual(['more', 'things'])
    file('0003_bad', 'create table half (id int)')
    expect(await migrate(url, folder)).toEqual(['0003_bad.sql', '0004_never.sql'])
  })

  it('refuses a changed file that was already applied, and a database of a newer version', async () => {
    await migrate(url, folder)
    file('0001_things', 'create table things (id bigint)')
    await expect(migrate(url, folder)).rejects.toThrow('Migration 0001_things.sql was changed after it was applied')
    file('0001_things', 'create table things (id int)')
    rmSync(join(folder, '0002_more.sql'))
    await expect(migrate(url, folder)).rejects.toThrow('by a newer version (0002_more.sql is not known here)')
  })

  it('refuses a new file that sorts before an applied one', async () => {
    await migrate(url, folder)
    file('0001_zwischen', 'create table between_them (id int)')
    await expect(migrate(url, folder)).rejects.toThrow('0001_zwischen.sql comes before 0002_more.sql')
  })
})
