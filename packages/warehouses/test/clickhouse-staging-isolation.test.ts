import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type ClientAccess, provisionClickHouse } from '../src/clickhouse/clickhouse-settings.ts'
import { openClickHouseWarehouse } from '../src/clickhouse/clickhouse-warehouse.ts'
import { executeStatement, rowsOf } from '../src/clickhouse/protocol/http-client.ts'
import { formatLiteral } from '../src/clickhouse/sql-identifiers.ts'
import { columns, given, never } from './row-fixtures.ts'
import { clickhouseMissing, type ClickHouseServer, clickhouseServer } from './clickhouse-under-test.ts'
import { cuttingProxy } from './connection-cutting-proxy.ts'
import { rowsIn } from './warehouse-under-test.ts'

const keyed = columns({ id: 'INTEGER', name: 'TEXT' }).map((column) => ({
  ...column,
  primaryKey: column.name === 'id',
}))

interface Heard {
  user: string
  sql: string
}

describe('SQL of an organisation on its own staging tables in ClickHouse', () => {
  if (clickhouseMissing !== undefined) {
    it.skip(clickhouseMissing, () => {})
    return
  }
  let server: ClickHouseServer
  let proxy: Awaited<ReturnType<typeof cuttingProxy>>
  let heard: Heard[] = []
  beforeAll(async () => {
    server = await clickhouseServer()
    proxy = await cuttingProxy(
      () => server.url,
      (user, sql) => void heard.push({ user, sql }),
    )
  })
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  async function client() {
    const access = server.client()
    const { url } = proxy
    const through: ClientAccess = {
      key: access.key,
      service: { ...access.service, url },
      load: { ...access.load, url },
      read: { ...access.read, url },
    }
    const warehouse = openClickHouseWarehouse(through)
    await warehouse.catalog.ensureSchema('health')
    let runs = 0
    const stage = async (table: string, rows: (string | number)[][]) => {
      runs += 1
      const target = { schema: 'health', table, columns: keyed, run: `run-${runs}`, attempt: 1 }
      const load = await warehouse.loader.stage(target, never)
      await load.write(given(rows), never)
      return load
    }
    const publish = async (table: string, rows: (string | number)[][], statements: string[] = []) => {
      const load = await stage(table, rows)
      const changes = statements.map((statement) => ({ statement }))
      await warehouse.loader.transform([load], changes, never)
      await warehouse.loader.publish([load], async () => true, never)
    }
    return { access: through, warehouse, stage, publish }
  }

  it('and reads by Sluice run with the users of the organisation, not with the administrator', async () => {
    const { access, warehouse, stage, publish } = await client()
    await publish('cases', [[1, 'one']])
    heard = []
    const load = await stage('cases', [[2, 'two']])
    await warehouse.loader.transform(
      [load],
      [{ statement: `alter table cases update name = 'masked' where true` }],
      never,
    )
    await warehouse.loader.publish([load], async () => true, never, { mode: 'MERGE' })
    expect(await rowsIn(warehouse, 'cases')).toEqual([
      [1, 'one'],
      [2, 'masked'],
    ])
    const rowsOfClients = new RegExp(
      `\\b(from|join)\\s+\`?c_${access.key}[-_]|^\\s*insert into \`c_${access.key}[-_]`,
      'i',
    )
    const asked = heard.filter(({ sql }) => rowsOfClients.test(sql))
    expect(asked.length).toBeGreaterThan(3)
    expect(asked.filter(({ user }) => user === access.service.user)).toEqual([])
  })

  it('cannot replace a staging table by a view before the publication', async () => {
    const { access, warehouse, stage, publish } = await client()
    const neighbour = await client()
    await neighbour.publish('patients', [[101, 'of a neighbour']])
    for (const mode of ['REPLACE', 'MERGE'] as const) {
      await publish('mine', [[1, 'own']])
      const load = await stage('mine', [[2, 'more']])
      const gate = async () => {
        await executeStatement(access.load, `drop table ${load.stagingTable}`)
        const seen = `select id, name from merge(REGEXP('^c_[a-z0-9]+_health$'), '^patients$')`
        await executeStatement(
          access.load,
          `create view ${load.stagingTable} (id Int32, name Nullable(String)) as ${seen}`,
        )
      }
      await expect(warehouse.loader.publish([load], async () => true, never, { mode, gate })).rejects.toMatchObject({
        code: 'TRANSFORMATION_FAILED',
      })
      expect(await rowsIn(warehouse, 'mine')).toEqual([[1, 'own']])
    }
  })

  it('cannot publish computed columns, but can publish a column with a constant default', async () => {
    const { access, publish } = await client()
    for (const kind of ['alias', 'materialized', 'default']) {
      const statements = [
        `create table made (id Int32, name Nullable(String), leak UInt8 ${kind} id + 1) engine = MergeTree order by id`,
        'insert into made (id, name) select id, name from odd',
        'exchange tables odd and made',
      ]
      await expect(publish('odd', [[1, 'one']], statements)).rejects.toMatchObject({
        code: 'TRANSFORMATION_FAILED',
        message: expect.stringMatching(/leak/),
      })
    }
    await publish('plain', [[1, 'one']], [`alter table plain add column origin String default 'here'`])
    expect(await rowsIn(openClickHouseWarehouse(access), 'plain')).toEqual([[1, 'one', 'here']])
  })

  it('publishes the table that EXCHANGE TABLES put in place, for any name of the helper table', async () => {
    const { warehouse, publish } = await client()
    for (const made of ['a_made', 'z_made']) {
      const table = `mask_${made}`
      await publish(
        table,
        [[1, 'Jane Doe']],
        [
          `create table ${made} (id Int32, name Nullable(String)) engine = MergeTree order by id`,
          `insert into ${made} select id, 'masked' from ${table}`,
          `exchange tables ${table} and ${made}`,
        ],
      )
      expect(await rowsIn(warehouse, table)).toEqual([[1, 'masked']])
    }
  })

  it('has limits with a minimum of 1, in statements that ClickHouse can parse', async () => {
    const { access } = await client()
    heard = []
    await provisionClickHouse(access)
    const users = heard.filter(({ sql }) => sql.startsWith('alter user'))
    expect(users).toHaveLength(2)
    for (const { sql } of users) {
      expect(sql.match(/max_\w+ = \d+ min 1 max \d+/g)).toHaveLength(3)
      await rowsOf(access.service, `select formatQuery(${formatLiteral(sql)}) as formatted`)
    }
  })
})
