import { afterAll, beforeAll, describe, it } from '@jest/globals'
import { clickHouseReaders } from '../src/clickhouse/clickhouse-readers.ts'
import type { ClientAccess } from '../src/clickhouse/clickhouse-settings.ts'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { databaseOf, qualifyName, quotePlace } from '../src/clickhouse/sql-identifiers.ts'
import { rowsOf } from '../src/clickhouse/protocol/http-client.ts'
import type { ReaderServer } from '../src/warehouse-reader-logins.ts'
import type { Warehouse, WarehouseCredentials } from '../src/warehouse.ts'
import { type ClickHouseServer, clickhouseMissing, clickhouseServer } from './clickhouse-under-test.ts'
import { readersSuite, type ReaderSubject } from './readers-suite.ts'

describe('the readers of a ClickHouse server', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  interface Tenant {
    client: WarehouseCredentials
    access: ClientAccess
    warehouse: Warehouse
  }
  let server: ClickHouseServer
  let readers: ReaderServer
  let own: Tenant
  let other: Tenant
  beforeAll(async () => {
    server = await clickhouseServer()
    readers = clickHouseReaders(server.url)
    ;[own, other] = [tenant(), tenant()]
    await other.warehouse.catalog.ensureSchema('health')
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  function tenant(): Tenant {
    const access = server.client()
    const client = { key: access.key, loadPassword: `load-${access.key}`, readPassword: `read-${access.key}` }
    return { client, access, warehouse: openClickHouseWarehouse(access) }
  }

  const subject: ReaderSubject = {
    get warehouse() {
      return own.warehouse
    },
    get client() {
      return own.client
    },
    get readers() {
      return readers
    },
    get neighbour() {
      return other
    },
    async connect(login, password) {
      const access = { url: own.access.service.url, user: login, password }
      const read = async (query: string) => {
        const rows = await rowsOf<Record<string, unknown>>(access, query)
        return rows.map((row) => `${Object.values(row)[0]}`)
      }
      await read('select 1')
      return { read, async [Symbol.asyncDispose]() {} }
    },
    place: (schema, table, client = own.client) => qualifyName(databaseOf({ key: client.key, schema }), table),
    forbidden: (table) => [
      `insert into ${table} values (9, 'x')`,
      `alter table ${table} delete where true`,
      `truncate table ${table}`,
      `drop table ${table}`,
      'create table mine (id int) engine = Memory',
      'create temporary table mine (id int)',
      `create database ${quotePlace('mine', 'x')}`,
      `select * from url('http://127.0.0.1:1/', 'CSV', 'a String')`,
      `select * from file('/etc/passwd', 'LineAsString')`,
      `select * from remote('127.0.0.1', 'system', 'one', 'default', '')`,
      `select * from c_${own.client.key}.ledger`,
      'set readonly = 0',
      'select 1 settings readonly = 0',
      'select 1 settings max_execution_time = 7200',
      'select 1 settings max_memory_usage = 1000000000000',
    ],
  }
  readersSuite(subject)
})
