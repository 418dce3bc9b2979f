import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { createLogger, Redaction } from '@sluice/process'
import { clientWarehouses, type ClientWarehouses } from '../../src/warehouses/client-warehouses.ts'
import { routeWarehouses } from '../../src/warehouses/warehouse-router.ts'
import { warehouseDrivers } from '@sluice/warehouses/registry/warehouse-registry'
import {
  dropClient,
  redshiftMissing,
  redshiftServer,
  type RedshiftServer,
} from '@sluice/warehouses/testing/redshift-under-test'
import { redshiftAccess } from '@sluice/warehouses/redshift/redshift-settings'
import { finished } from './large-load.ts'
import { startStack, type Stack } from './worker-stack.ts'
import { spawnWorker, type WorkerProcess } from './worker-process.ts'

describe('worker with a Redshift cluster', () => {
  if (redshiftMissing !== undefined) {
    it.skip(redshiftMissing, () => {})
    return
  }
  let stack: Stack
  let server: RedshiftServer
  let worker: WorkerProcess
  let warehouses: ClientWarehouses
  let client: string | undefined
  beforeAll(async () => {
    stack = await startStack()
    server = await redshiftServer()
    const { url, staging, role, region, accessKey, secretKey, endpoint } = server.settings
    worker = await spawnWorker({
      ...stack.environment,
      REDSHIFT_URL: url,
      REDSHIFT_STAGING: staging,
      REDSHIFT_ROLE: role,
      REDSHIFT_REGION: region,
      REDSHIFT_ACCESS_KEY_ID: accessKey,
      REDSHIFT_SECRET_ACCESS_KEY: secretKey,
      ...(endpoint !== undefined && { REDSHIFT_STAGING_ENDPOINT: endpoint }),
    })
    const redaction = new Redaction()
    const logger = createLogger({ name: 'test', level: 'silent', redaction })
    const parts = { db: stack.db, keyRing: keyRing(stack.environment['SECRET_KEYS']!), logger, redaction }
    const postgres = clientWarehouses({ ...parts, adminUrl: stack.environment['WAREHOUSE_DATABASE_URL']! })
    warehouses = routeWarehouses(postgres, { ...parts, otherDrivers: warehouseDrivers({ redshift: server.settings }) })
  })
  const accessOf = async (client: string) => {
    const warehouse = stack.db.selectFrom('warehouses').select('key').where('client', '=', client)
    const { key } = await warehouse.executeTakeFirstOrThrow()
    return redshiftAccess(server.settings, { key, loadPassword: '', readPassword: '' })
  }
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await warehouses?.[Symbol.asyncDispose]()
    if (client !== undefined) await dropClient(await accessOf(client))
    await server?.[Symbol.asyncDispose]()
    await stack?.[Symbol.asyncDispose]()
  })

  it('loads each pipeline into the warehouse of its schema, Redshift or PostgreSQL', async () => {
    const here = await stack.pipeline()
    const there = await stack.pipeline(here.client)
    client = here.client
    await stack.db
      .updateTable('schemas')
      .set({ provider_schema: 'WAREHOUSE_A' })
      .where('client', '=', there.client)
      .where('schema_name', '=', there.schema)
      .execute()
    const load = async (pipeline: typeof there, content: string) =>
      finished(stack, await stack.run(pipeline, await stack.upload(pipeline, content)))
    expect(await load(there, 'id,name\n1,Oslo\n2,"Ber""gen"\n')).toMatchObject({ state: 'OK', rows_written: 2 })
    expect(await load(here, 'id,name\n7,Accra\n')).toMatchObject({
      state: 'OK',
      message: expect.anything(),
      rows_written: 1,
    })
    const warehouse = await warehouses.open(here.client)
    const page = { limit: 10, offset: 0 }
    expect((await warehouse.queries.readTable(there.schema, 'cases', page)).rows).toEqual([
      [1, 'Oslo'],
      [2, 'Ber"gen'],
    ])
    expect((await warehouse.queries.readTable(here.schema, 'cases', page)).rows).toEqual([[7, 'Accra']])
    expect(await load(there, 'id,name\n5,Lima\n')).toMatchObject({ state: 'OK', rows_written: 1 })
    expect((await warehouse.queries.readTable(there.schema, 'cases', page)).rows).toEqual([[5, 'Lima']])
    expect(await warehouse.catalog.listSchemas()).toEqual([there.schema, here.schema].toSorted())
  })
})
