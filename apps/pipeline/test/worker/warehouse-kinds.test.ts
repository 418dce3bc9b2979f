import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { itUnless } from '@sluice/testing/skip-tests'
import { keyRing } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { type ClientWarehouses, clientWarehouses } from '../../src/warehouses/client-warehouses.ts'
import { routeWarehouses } from '../../src/warehouses/warehouse-router.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { warehouseDrivers } from '@sluice/warehouses/registry/warehouse-registry'
import {
  clickhouseMissing,
  clickhouseServer,
  type ClickHouseServer,
} from '@sluice/warehouses/testing/clickhouse-under-test'
import { finished } from './large-load.ts'
import { type Pipeline, startStack, type Stack } from './worker-stack.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'

let stack: Stack
let worker: WorkerProcess
let server: ClickHouseServer | undefined
let parts: Pick<Parameters<typeof clientWarehouses>[0], 'db' | 'keyRing' | 'logger' | 'redaction'>
let postgres: ClientWarehouses
let warehouses: ClientWarehouses

beforeAll(async () => {
  stack = await startStack()
  server = clickhouseMissing === undefined ? await clickhouseServer() : undefined
  worker = await spawnWorker({ ...stack.environment, ...(server && { CLICKHOUSE_URL: server.url }) })
  const redaction = new Redaction()
  parts = {
    db: stack.db,
    keyRing: keyRing(stack.environment['SECRET_KEYS']!),
    logger: createLogger({ name: 'test', level: 'silent', redaction }),
    redaction,
  }
  postgres = clientWarehouses({ ...parts, adminUrl: stack.environment['WAREHOUSE_DATABASE_URL']! })
  warehouses = routeWarehouses(postgres, { ...parts, otherDrivers: warehouseDrivers({ CLICKHOUSE_URL: server?.url }) })
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await warehouses?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

async function pipelineIn(kind: string, client?: string): Promise<Pipeline> {
  const pipeline = await stack.pipeline(client)
  await stack.db
    .updateTable('schemas')
    .set({ provider_schema: kind })
    .where('client', '=', pipeline.client)
    .where('schema_name', '=', pipeline.schema)
    .execute()
  return pipeline
}

const load = async (pipeline: Pipeline, content: string) =>
  finished(stack, await stack.run(pipeline, await stack.upload(pipeline, content)))

describe('warehouses of an organisation', () => {
  it('are opened once for concurrent requests', async () => {
    const { client, schema } = await pipelineIn('WAREHOUSE_B')
    const opened: object[] = []
    const open = async () => {
      const warehouse = { catalog: { listSchemas: async () => [schema] } } as unknown as Warehouse
      opened.push(warehouse)
      await pause(200)
      return warehouse
    }
    const part = { name: 'stand-in', check: async () => {} }
    const all = routeWarehouses(postgres, { ...parts, otherDrivers: [{ kind: 'WAREHOUSE_B', open, part }] })
    await Promise.all([all.open(client), all.open(client), all.open(client)])
    expect(opened).toHaveLength(1)
  })
})

describe('worker', () => {
  it.each(['WAREHOUSE_A', 'NA'])(
    'fails a load into %s if it is not configured, with the schema and kind in the message',
    async (kind) => {
      const pipeline = await pipelineIn(kind)
      const run = await load(pipeline, 'id\n1\n')
      expect(run).toMatchObject({ state: 'FAILED', error_code: 'WAREHOUSE_NOT_SET_UP' })
      expect(run.message).toContain(`The schema "${pipeline.schema}"`)
      expect(run.message).toContain(kind)
    },
  )

  itUnless(clickhouseMissing)('loads each pipeline into ClickHouse or PostgreSQL, by its schema', async () => {
    const there = await pipelineIn('WAREHOUSE_B')
    const here = await stack.pipeline(there.client)
    expect(await load(there, 'id,name\n1,Oslo\n2,Bergen\n')).toMatchObject({ state: 'OK', rows_written: 2 })
    expect(await load(here, 'id,name\n7,Accra\n')).toMatchObject({ state: 'OK', rows_written: 1 })
    const warehouse = await warehouses.open(there.client)
    const page = { limit: 10, offset: 0 }
    expect((await warehouse.queries.readTable(there.schema, 'cases', page)).rows).toEqual([
      [1, 'Oslo'],
      [2, 'Bergen'],
    ])
    expect((await warehouse.queries.readTable(here.schema, 'cases', page)).rows).toEqual([[7, 'Accra']])
    const schemas = await warehouse.catalog.listSchemas()
    expect(schemas).toEqual([there.schema, here.schema].toSorted())
    const places = await warehouse.catalog.listRelations(schemas)
    expect((await warehouse.catalog.findTables(places)).map(({ rowCount }) => rowCount).toSorted()).toEqual([1, 2])
    const table = await warehouse.catalog.findTable(there.schema, 'cases')
    expect(table?.profile).toEqual({ id: expect.any(String), scope: 'TABLE' })

    const counted = async (text: string) => (await warehouse.queries.query({ text, schemas })).rows[0]?.map(Number)
    expect(await counted(`select count(*) as n from ${there.schema}.cases`)).toEqual([2])
    expect(await counted(`select count(*) as n from ${here.schema}.cases`)).toEqual([1])
    await expect(
      warehouse.queries.query({
        text: `select * from ${there.schema}.cases a join ${here.schema}.cases b on a.id = b.id`,
        schemas,
      }),
    ).rejects.toMatchObject({ code: 'QUERY_FAILED', message: expect.stringContaining('several warehouses') })

    const view = { id: randomUUID(), schema: there.schema, name: 'over', query: 'select name from cases' }
    await warehouse.views.define({ ...view, materialized: false }, { seconds: 30 }, new AbortController().signal)
    expect((await warehouse.queries.readTable(there.schema, 'over', page)).rows).toEqual([['Oslo'], ['Bergen']])
    await warehouse.views.drop(there.schema, 'over')
    await warehouse.catalog.dropTable(there.schema, 'cases')
    expect(await warehouse.catalog.listRelations([there.schema])).toEqual([])
  })
})
