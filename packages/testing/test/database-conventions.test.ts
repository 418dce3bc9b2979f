import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { brokenDatabaseRules, testDatabase, type TestDatabase } from '../src/index.ts'

let database: TestDatabase
let sql: Client
beforeAll(async () => {
  database = await testDatabase()
  sql = new Client(database.url)
  await sql.connect()
  await sql.query('create table migrations (name text primary key)')
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

describe('the rules for database schemas', () => {
  it('find nothing in a schema that follows them', async () => {
    await sql.query(`
      create table a (id bigint primary key, n int, at timestamptz, constraint a_n_check check (n > 0));
      create table b (a bigint, x int, constraint b_a_fkey foreign key (a) references a (id));
      create index b_a on b (a, x)`)
    expect(await brokenDatabaseRules(database.url)).toEqual([])
  })

  it('find foreign keys without an index that starts with them, and timestamps without a time zone', async () => {
    await sql.query(`
      create table c (id int primary key, at timestamp);
      create table d (c int, x int, constraint d_c_fkey foreign key (c) references c (id));
      create index d_x on d (x, c)`)
    expect(await brokenDatabaseRules(database.url)).toEqual([
      'c.at: a time without a zone',
      'd: foreign key d_c_fkey has no index',
    ])
  })
})
