import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineBody, schemaBody } from '../api/app-under-test.ts'
import { checkBody, groupBody } from '../api/quality-check-bodies.ts'
import { viewBody } from '../api/view-fixtures.ts'
import { credentials, startDhis2 } from '../dhis2/dhis2-stand-in.ts'
import { manyRows, largeFile } from '../worker/large-load.ts'
import { until } from '@sluice/testing/wait-until'
import {
  clickhouseMissing,
  clickhouseServer,
  type ClickHouseServer,
} from '@sluice/warehouses/testing/clickhouse-under-test'
import { type Installation, startInstallation } from './installation.ts'

const cases = 'id,region,period,visits\n1,north,202601,10\n2,south,202601,20\n3,north,202602,30\n'

describe('end to end: ClickHouse schema', () => {
  if (clickhouseMissing !== undefined || process.env['CLICKHOUSE_TEST_URL']) {
    it.skip(clickhouseMissing ?? 'needs a ClickHouse server of its own, not that of CLICKHOUSE_TEST_URL', () => {})
    return
  }
  let server: ClickHouseServer
  let data: string
  let port: number
  let installation: Installation
  let token: string
  let schema: { id: string; schemaName: string }
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'))
    server = await clickhouseServer(data)
    port = Number(new URL(server.url).port)
    installation = await startInstallation({
      CLICKHOUSE_URL: server.url,
      OUTGOING_ALLOWED: '127.0.0.1',
      WORKER_HEARTBEAT_SECONDS: '10',
    })
    const { identity } = installation
    const roles = [
      'SCHEMA',
      'DATA_PIPELINE',
      'VIEW',
      'DATA_QUALITY_CHECK',
      'DATA_QUALITY_CHECK_GROUP',
      'DESTINATION',
    ] as const
    const { id } = await identity.client()
    token = (
      await identity.person(
        id,
        roles.map((role) => `ROLE_MANAGE_${role}` as const),
      )
    ).token
    schema = await make('schemas', { ...schemaBody(), providerSchema: 'WAREHOUSE_B' })
  })
  afterAll(async () => {
    await installation?.stop()
    await server?.[Symbol.asyncDispose]()
    await rm(data, { recursive: true, force: true })
  })

  async function call(method: string, path: string, body?: unknown, type = 'application/json') {
    const answer = await fetch(`${installation.pipelineUrl}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      ...(body !== undefined && { body: type === 'application/json' ? JSON.stringify(body) : (body as string) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  async function good(method: string, path: string, ...rest: [body?: unknown, type?: string]) {
    const { status, body } = await call(method, path, ...rest)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const make = (path: string, body: object) => good('POST', path, body)
  const read = (path: string) => good('GET', path)
  const tableName = () => `t${randomBytes(4).toString('hex')}`
  const pipeline = async (more: object = {}, table = tableName()) => {
    const target = { dataWarehouseTarget: { schema: { id: schema.id }, tableName: table } }
    const { id } = await make('data-pipelines', pipelineBody(schema.id, { ...target, ...more }))
    return { id: id as string, table }
  }
  const begin = async (id: string, csv: string) => {
    await good('POST', `data-pipelines/${id}/file?name=cases.csv`, csv, 'text/csv')
    return (await good('POST', `data-pipelines/${id}/run`)).data.taskId as string
  }
  const ended = (runs: string, task: string) =>
    until(async () =>
      (await read(runs)).find((run: { taskId: string; finished?: string }) => run.taskId === task && run.finished),
    )
  const load = async (id: string, csv: string) => ended(`data-pipelines/${id}/runs`, await begin(id, csv))
  const rowsOf = async (path: string) => (await read(`${path}/data`)).rows

  it('is loaded, read page by page, and has column statistics', async () => {
    const { id } = await pipeline()
    expect(await load(id, cases)).toMatchObject({ status: 'OK', rowsWritten: 3 })
    expect(await rowsOf(`data-pipelines/${id}`)).toEqual([
      [1, 'north', 202601, 10],
      [2, 'south', 202601, 20],
      [3, 'north', 202602, 30],
    ])
    const page = await read(`data-pipelines/${id}/data?page=2&pageSize=2`)
    expect(page.rows).toEqual([[3, 'north', 202602, 30]])
    const table = await read(`data-pipelines/${id}/table`)
    expect(table).toMatchObject({ rowCount: 3, columnCount: 4 })
    expect(table.columns[1]).toMatchObject({ name: 'region', dataType: 'TEXT', distinctValues: 2 })
  })

  it('does not publish rows that fail a check, and runs checks directly and from the queue', async () => {
    const table = tableName()
    const query = `select id, visits from ${table} where visits < 0`
    const check = await make('data-quality-checks', checkBody({ query }))
    const group = await make('data-quality-check-groups', groupBody({ dataQualityChecks: [{ id: check.id }] }))
    const { id } = await pipeline({ dataQualityCheckGroup: { id: group.id } }, table)
    expect(await load(id, 'id,visits\n1,5\n')).toMatchObject({ status: 'OK' })
    expect(await load(id, 'id,visits\n1,5\n2,-7\n')).toMatchObject({
      status: 'FAILED',
      errorCode: 'DATA_QUALITY_FAILED',
    })
    expect(await rowsOf(`data-pipelines/${id}`)).toEqual([[1, 5]])
    expect(await make(`data-quality-checks/${check.id}/run`, {})).toMatchObject({ status: 'OK' })
    const path = `data-quality-check-groups/${group.id}`
    expect((await make(`${path}/run`, {})).taskId).toBeDefined()
    const { data: started } = await make(`${path}/start`, {})
    expect(await ended(`${path}/runs`, started.taskId)).toMatchObject({ status: 'OK' })
    const wrong = checkBody({ query: `select nothing_like_it from ${table}` })
    const { status, body } = await call(
      'POST',
      `data-quality-checks/${(await make('data-quality-checks', wrong)).id}/run`,
      {},
    )
    expect([status, JSON.stringify(body)]).toEqual([expect.any(Number), expect.stringContaining('nothing_like_it')])
  })

  it('has plain and materialised views, which are pushed to DHIS2', async () => {
    const { id, table } = await pipeline()
    await load(id, cases)
    const sums = `select region as org_unit, 'f7n9E0hX8qk' as data_element, toString(period) as period, sum(visits) as value from ${table} group by region, period order by region, period`
    const plain = await make('views', viewBody(schema.id, sums))
    const kept = await make('views', viewBody(schema.id, sums, { materialized: true }))
    const { data: filled } = await make(`views/${kept.id}/run`, {})
    expect(await ended(`views/${kept.id}/runs`, filled.taskId)).toMatchObject({ status: 'OK', rowsWritten: 3 })
    const sumsOf = async (view: { id: string }) =>
      (await rowsOf(`views/${view.id}`)).map((row: unknown[]) => Number(row[3]))
    expect([await sumsOf(plain), await sumsOf(kept)]).toEqual([
      [10, 30, 20],
      [10, 30, 20],
    ])
    await load(id, `${cases}4,south,202601,5\n`)
    expect([await sumsOf(plain), await sumsOf(kept)]).toEqual([
      [10, 30, 25],
      [10, 30, 20],
    ])
    const { data: again } = await make(`views/${kept.id}/run`, {})
    await ended(`views/${kept.id}/runs`, again.taskId)
    expect(await sumsOf(kept)).toEqual([10, 30, 25])

    const dhis2 = await startDhis2()
    try {
      const destination = await make('destinations', {
        name: `Push ${randomBytes(4).toString('hex')}`,
        disabled: false,
        runTrigger: 'NEVER',
        viewSource: { id: kept.id },
        apiTarget: { url: dhis2.url, ...credentials },
      })
      const { data: pushing } = await make(`destinations/${destination.id}/run`, { mode: 'FULL' })
      expect(await ended(`destinations/${destination.id}/runs`, pushing.taskId)).toMatchObject({
        status: 'OK',
        message: expect.any(String),
      })
      const sent = dhis2.imports().flatMap(({ body }) => JSON.parse(body).dataValues)
      expect(sent.map(({ orgUnit, value }: Record<string, string>) => [orgUnit, value])).toEqual([
        ['north', '10'],
        ['north', '30'],
        ['south', '25'],
      ])
    } finally {
      await dhis2.stop()
    }
  })

  it('can replace a PostgreSQL schema step by step, with the same pushed values', async () => {
    const old = await make('schemas', schemaBody())
    const target = (id: string, table: string) => ({ dataWarehouseTarget: { schema: { id }, tableName: table } })
    const table = tableName()
    const before = await make('data-pipelines', pipelineBody(old.id, target(old.id, table)))
    await load(before.id, cases)
    const query = (period: string) =>
      `select region as org_unit, 'f7n9E0hX8qk' as data_element, ${period} as period, visits as value from ${table} order by id`
    const oldView = await make('views', viewBody(old.id, query('cast(period as text)')))
    const dhis2 = await startDhis2()
    try {
      const push = {
        name: `Push ${randomBytes(4).toString('hex')}`,
        disabled: false,
        runTrigger: 'NEVER',
        viewSource: { id: oldView.id },
        apiTarget: { url: dhis2.url, ...credentials },
      }
      const destination = await make('destinations', push)

      const after = await make('data-pipelines', pipelineBody(schema.id, target(schema.id, table)))
      expect(await load(after.id, cases)).toMatchObject({ status: 'OK' })
      expect(await rowsOf(`data-pipelines/${after.id}`)).toEqual(await rowsOf(`data-pipelines/${before.id}`))
      const newView = await make('views', viewBody(schema.id, query('toString(period)')))
      expect(await rowsOf(`views/${newView.id}`)).toEqual(await rowsOf(`views/${oldView.id}`))
      const both = `select count(*) from ${old.schemaName}.${table} a join ${schema.schemaName}.${table} b on a.id = b.id`
      const { status, body } = await call('POST', 'views', viewBody(schema.id, both))
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('several warehouses')])

      const sent = async (view: { id: string }) => {
        await good('PUT', `destinations/${destination.id}`, { ...push, viewSource: { id: view.id } })
        const { data } = await make(`destinations/${destination.id}/run`, { mode: 'FULL' })
        expect(await ended(`destinations/${destination.id}/runs`, data.taskId)).toMatchObject({ status: 'OK' })
        return JSON.parse(dhis2.imports().at(-1)!.body).dataValues
      }
      const fromPostgres = await sent(oldView)
      expect(await sent(newView)).toEqual(fromPostgres)
      expect(await sent(oldView)).toEqual(fromPostgres)

      await good('PUT', `destinations/${destination.id}`, { ...push, viewSource: { id: newView.id } })
      await good('DELETE', `views/${oldView.id}`)
      await good('DELETE', `data-pipelines/${before.id}`)
      expect(await rowsOf(`data-pipelines/${after.id}`)).toHaveLength(3)
    } finally {
      await dhis2.stop()
    }
  })

  it('rejects a view in PostgreSQL syntax with 422', async () => {
    const { id, table } = await pipeline()
    await load(id, cases)
    const { status, body } = await call('POST', 'views', viewBody(schema.id, `select visits::nonsense from ${table}`))
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringMatching(/nonsense/)])
  })

  it('can be read anonymously if the pipeline allows anonymous access', async () => {
    const { id } = await pipeline()
    await load(id, cases)
    const { body: about } = await call('GET', `data-pipelines/${id}`)
    const open = {
      ...about,
      owner: 'Ada Lovelace',
      source: 'Registry',
      anonymousAccess: { metadata: true, data: true },
    }
    await good('PUT', `data-pipelines/${id}`, open)
    const answer = await fetch(`${installation.pipelineUrl}/api/v1/public/data-pipelines/${id}/data?pageSize=1`)
    expect([answer.status, JSON.parse(await answer.text()).rows]).toEqual([200, [[1, 'north', 202601, 10]]])
  })

  it('keeps the old rows when a worker is killed during a load, until another worker publishes', async () => {
    const { id } = await pipeline()
    await load(id, 'id,name\n1,Oslo\n')
    const task = await begin(id, largeFile().toString())
    const runs = `data-pipelines/${id}/runs`
    await until(async () => (await read(runs))[0].progress?.rowsRead > 1_000, { every: 5 })
    installation.worker.signal('SIGKILL')
    await installation.worker.ended
    expect((await read(`data-pipelines/${id}/table`)).rowCount).toBe(1)
    await installation.anotherWorker()
    expect(await ended(runs, task)).toMatchObject({ status: 'OK', rowsWritten: manyRows, attempt: 2 })
    expect((await read(`data-pipelines/${id}/table`)).rowCount).toBe(manyRows)
  })

  it('returns 503 while its server is down, and a run waits until it is back', async () => {
    const { id } = await pipeline()
    await load(id, cases)
    const health = async (): Promise<unknown> => (await fetch(`${installation.pipelineUrl}/health/ready`)).json()
    expect(await health()).toMatchObject({ status: 'UP', parts: { clickhouse: 'UP' } })
    await server.kill()
    expect(await health()).toMatchObject({ status: 'UP', parts: { clickhouse: 'DOWN', warehouse: 'UP' } })
    const { status, body } = await call('GET', `data-pipelines/${id}/data`)
    expect([status, body.detail]).toEqual([503, 'The warehouse cannot be reached. Try again in a few seconds.'])
    const task = await begin(id, `${cases}4,east,202601,1\n`)
    const runs = `data-pipelines/${id}/runs`
    await until(async () => (await read(runs))[0].message?.includes('reach'))
    server = await clickhouseServer(data, port)
    expect(await ended(runs, task)).toMatchObject({ status: 'OK', rowsWritten: 4 })
    expect((await rowsOf(`data-pipelines/${id}`)).length).toBe(4)
  })
})
