import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let worker: WorkerProcess
let client: string
let owner: Asking
let schema: { id: string; schemaName: string }
beforeAll(async () => {
  service = await startService({ uploadLimit: 20_000_000 })
  worker = await spawnWorker(service.environment)
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

async function create() {
  const target = { schema: { id: schema.id }, tableName: 'cases' }
  const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema.id, { dataWarehouseTarget: target }))
  return `/data-pipelines/${body.id}`
}
async function load(one: string, csv: string) {
  await owner.post(`${one}/file`).type('text/csv').send(csv).expect(200)
  await owner.post(`${one}/run`).expect(202)
  const { body } = await until(async () => {
    const answer = await owner.get(`${one}/runs`).expect(200)
    return answer.body[0].finished && answer
  })
  expect(body[0]).toMatchObject({ status: 'OK' })
}

describe('a page of loaded rows', () => {
  it('is returned whole; if it is too large, it is refused and the error suggests a smaller page size', async () => {
    const one = await create()
    await load(one, `id,text\n${Array.from({ length: 12 }, (_, id) => `${id},${'x'.repeat(1_000_000)}\n`).join('')}`)
    const { body } = await owner.get(`${one}/data?pageSize=12`).expect(422)
    expect(body).toMatchObject({ code: 'page-too-large', detail: expect.stringMatching(/pageSize=[34] or less/) })
    const seen: number[] = []
    for (const page of [1, 2, 3, 4]) {
      const answer = await owner.get(`${one}/data?pageSize=3&page=${page}`).expect(200)
      seen.push(...answer.body.rows.map(([id]: [number]) => id))
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, id) => id))
    await owner.delete(one).expect(204)
  })
})

describe('the table of a deleted pipeline', () => {
  it('is hidden while a lock prevents its drop, and is dropped before the next load into the same name', async () => {
    const one = await create()
    await load(one, 'secret\n1\n2\n')
    await using inside = await service.stack.inside(client)
    await inside.query(`begin; lock table "${schema.schemaName}".cases in access share mode`)
    await owner.delete(one).expect(204)
    expect(service.log()).toContain('deleted tables could not be dropped; a worker retries')
    const next = await create()
    for (const what of ['table', 'data']) await owner.get(`${next}/${what}`).expect(404)
    await inside.query('commit')
    await load(next, 'a,b\n3,4\n')
    const { body } = await owner.get(`${next}/data`).expect(200)
    expect(body).toMatchObject({ rows: [[3, 4]], columns: [{ name: 'a' }, { name: 'b' }] })
    expect(await service.stack.db.selectFrom('warehouse_drops').selectAll().execute()).toEqual([])
    await owner.delete(next).expect(204)
    await owner.delete(`/schemas/${schema.id}`).expect(204)
    const { rowCount } = await inside.query('select from pg_namespace where nspname = $1', [schema.schemaName])
    expect(rowCount).toBe(0)
  })
})
