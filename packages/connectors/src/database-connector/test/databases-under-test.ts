import { mariadbMissing, startMariadb } from './mariadb-server.ts'
import { superuser } from './load-row-stream.ts'
import { superuserUrl, word } from '@sluice/warehouses/testing/scratch-warehouse'
import type { UnsupportedRules } from '../../../test/conformance-rules.ts'
import { unsupportedByDatabases, unsupportedByPostgres } from '../../../test/unsupported-conformance-rules.ts'

/** A real database with somebody who may only read, and what its SQL calls the same things. */
export interface TestDatabase extends AsyncDisposable {
  jdbcSource: { hostname: string; port: number; database: string; username: string; password: string }
  schema: string
  run(sql: string): Promise<unknown>
  /** Changes a column's type, and keeps what it holds. */
  retype(table: string, column: string, type: string): string
  /** Adds so many rows of a kilobyte behind id 3. */
  fill(table: string, rows: number): string
  /** A query that takes a minute over its rows. */
  slow(table: string): string
  /** A query that fails at its third row, and what the database says then. */
  failing(table: string): string
  failure: RegExp
  changePassword(password: string): Promise<unknown>
  cutConnections(): Promise<void>
  /** Whether the reader is signed in. */
  isAsked(): Promise<boolean>
  [Symbol.asyncDispose](): Promise<void>
}

interface DatabaseHere {
  name: string
  type: 'SQL_DATABASE_B' | 'SQL_DATABASE_D'
  missing: string | undefined
  without: UnsupportedRules & typeof unsupportedByDatabases
  start(): Promise<TestDatabase>
}

const password = 'reads:only/öffnet%sich'

async function startPostgres(): Promise<TestDatabase> {
  const [database, username] = [word('source_'), word('reader_')]
  const admin = await superuser()
  await admin.query(`create database ${database}`)
  await admin.query(`create role ${username} login password '${password}'`)
  const source = await superuser(database)
  await source.query(`alter default privileges in schema public grant select on tables to ${username}`)
  const { port } = new URL(superuserUrl())
  const sessions = `from pg_stat_activity where usename = '${username}'`
  return {
    jdbcSource: { hostname: '127.0.0.1', port: Number(port), database, username, password },
    schema: 'public',
    run: (sql) => source.query(sql),
    retype: (table, column, type) => `alter table ${table} alter ${column} type ${type} using ${column}::${type}`,
    fill: (table, rows) => `insert into ${table} select n, repeat('x', 1000) from generate_series(4, ${rows + 3}) as n`,
    slow: (table) =>
      `select p.id, repeat('x', 1000) as name, pg_sleep(0.02)::text as slept from ${table} p, generate_series(1, 1000)`,
    failing: (table) => `select id, name, 1 / (id - 3) as broken from ${table} order by id`,
    failure: /division by zero/,
    changePassword: (changed) => admin.query(`alter role ${username} password '${changed}'`),
    cutConnections: async () => void (await admin.query(`select pg_terminate_backend(pid) ${sessions}`)),
    isAsked: async () => (await admin.query(`select ${sessions} and state = 'active'`)).rowCount! > 0,
    async [Symbol.asyncDispose]() {
      await source.end()
      await admin.query(`drop database if exists ${database} with (force)`)
      await admin.query(`drop role if exists ${username}`)
      await admin.end()
    },
  }
}

async function startMaria(): Promise<TestDatabase> {
  const server = await startMariadb()
  const { admin, port } = server
  await admin.query(`create database shop character set utf8mb4; use shop;
    create user reader identified by '${password}'; grant select on shop.* to reader`)
  const sessions = async () => {
    const [found] = await admin.query(`select id, command from information_schema.processlist where user = 'reader'`)
    return found as { id: number; command: string }[]
  }
  return {
    jdbcSource: { hostname: '127.0.0.1', port, database: 'shop', username: 'reader', password },
    schema: 'shop',
    run: (sql) => admin.query(sql),
    retype: (table, column, type) => `alter table ${table} modify ${column} ${type}`,
    fill: (table, rows) => `insert into ${table} select seq, repeat('x', 1000) from seq_4_to_${rows + 3}`,
    slow: (table) => `select id, repeat('x', 1000) as name, sleep(0.02) as slept from ${table}, seq_1_to_1000`,
    failing: (table) =>
      `select p.id, p.name, (select 1 from ${table} q where p.id = 3 and q.id > 1) as broken from ${table} p order by p.id`,
    failure: /more than 1 row/,
    changePassword: (changed) => admin.query(`alter user reader identified by '${changed}'`),
    async cutConnections() {
      for (const { id } of await sessions()) await admin.query(`kill ${id}`).catch(() => {})
    },
    isAsked: async () => (await sessions()).some(({ command }) => command !== 'Sleep'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export const databasesHere: readonly DatabaseHere[] = [
  {
    name: 'PostgreSQL',
    type: 'SQL_DATABASE_D',
    missing: undefined,
    without: unsupportedByPostgres,
    start: startPostgres,
  },
  {
    name: 'MariaDB',
    type: 'SQL_DATABASE_B',
    missing: mariadbMissing(),
    without: unsupportedByDatabases,
    start: startMaria,
  },
]
