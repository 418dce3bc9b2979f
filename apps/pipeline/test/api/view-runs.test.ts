import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnWorker, type WorkerProcess } from '../worker/worker-process.ts'
import { until } from '@sluice/testing/wait-until'
import { pipelineBody } from './app-under-test.ts'
import { fill } from './view-fixtures.ts'
import { viewsUnderTest } from './view-service-setup.ts'

let worker: WorkerProcess
// Said before the scene's own: the worker ends while its database is still there.
afterAll(() => worker?.[Symbol.asyncDispose]())
const scene = viewsUnderTest()
const { create, rowsOf } = scene
beforeAll(async () => {
  worker = await spawnWorker(scene.service.environment)
})

const run = async (id: string) => {
  const { body } = await scene.owner.post(`/views/${id}/run`).expect(202)
  const ended = async () => {
    const { body: runs } = await scene.owner.get(`/views/${id}/runs`).expect(200)
    return runs.find(({ taskId, finished }: any) => taskId === body.data.taskId && finished)
  }
  return until(ended)
}

describe('a run of a view', () => {
  it('refreshes a materialised view, and names the outdated views that it reads', async () => {
    const types = { id: 'INTEGER', region: 'TEXT' }
    const first = await create(`select count(*)::int as n from ${scene.place.table}`, { materialized: true })
    const second = await create(`select n * 10 as n from ${first.dataWarehouseViewName}`, { materialized: true })
    await fill(scene.service, scene.client, scene.place, { types, rows: [[1, 'west']] })
    expect(await rowsOf(first.id)).toEqual([[3]])
    const pipelines = scene.service.stack.db
      .selectFrom('data_pipelines')
      .select('id')
      .where('uid', '=', scene.place.pipeline)
    const { id: runnable_id } = await pipelines.executeTakeFirstOrThrow()
    await scene.service.stack.db
      .insertInto('runs')
      .values({
        runnable_id,
        client: scene.client,
        trigger: 'MANUAL',
        state: 'OK',
        finished_at: new Date(),
        input: '{}',
      })
      .execute()
    const stale = await run(second.id)
    expect(stale).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect(stale.message).toMatch(`It reads outdated views; refresh them first: ${first.name}.`)
    expect((await run(first.id)).message).toBe(`Refreshed ${first.qualifiedDataWarehouseViewName}: 1 row.`)
    expect((await run(second.id)).message).toBe(`Refreshed ${second.qualifiedDataWarehouseViewName}: 1 row.`)
    expect(await rowsOf(second.id)).toEqual([[10]])
    const { body } = await scene.owner.get(`/views/${second.id}`).expect(200)
    expect(body.status).toMatchObject({ lastRunStatus: 'OK', lastRunSuccess: expect.any(String) })
  })

  it('of a plain view checks whether it can be read, and returns the reason if not', async () => {
    const view = await create(`select 1 / (id - id) as a from ${scene.place.table}`)
    expect(await run(view.id)).toMatchObject({ status: 'FAILED', message: expect.stringContaining('division by zero') })
    expect((await run((await create('select 1 as a')).id)).message).toContain('can be read: 1 column.')
  })

  it('creates the view again if it is missing in the warehouse', async () => {
    const view = await create('select 5 as a', { materialized: true })
    const warehouse = await scene.service.stack.warehouses.open(scene.client)
    await warehouse.views.drop(scene.place.schemaName, view.dataWarehouseViewName)
    expect((await scene.owner.get(`/views/${view.id}/data`).expect(404)).body.detail).toContain('Run the view')
    expect(await run(view.id)).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect(await rowsOf(view.id)).toEqual([[5]])
  })

  it('completes in the background if creating the view takes longer than the request waits', async () => {
    const view = await create('select pg_sleep(12)::text as a', { materialized: true })
    expect(view.status.lastRunStatus).toMatch(/QUEUED|RUNNING/)
    await until(async () => (await scene.owner.get(`/views/${view.id}`)).body.status.lastRunStatus === 'OK')
    expect(await rowsOf(view.id)).toEqual([['']])
  })
})

describe('a view whose tables do not exist yet', () => {
  const load = async (pipeline: string, content: string) => {
    const path = `/data-pipelines/${pipeline}`
    await scene.owner.post(`${path}/file?name=a.csv`).type('text/csv').send(content).expect(200)
    const { body: started } = await scene.owner.post(`${path}/run`).expect(202)
    return until(async () => {
      const { body } = await scene.owner.get(`${path}/runs`).expect(200)
      return body.find(({ taskId, finished }: any) => taskId === started.data.taskId && finished)
    })
  }
  const statusOf = async (id: string) => (await scene.owner.get(`/views/${id}`).expect(200)).body.status

  it('is PENDING with the reason, and is created by the load that creates its tables', async () => {
    const body = pipelineBody(scene.place.schema)
    const { body: pipeline } = await scene.owner.post('/data-pipelines').send(body).expect(201)
    const table = pipeline.dataWarehouseTargetTableName
    const above = `seen_${table}`
    const second = await create(`select count(*)::int as n from ${above}`, { materialized: true })
    const first = await create(`select * from ${table}`, { dataWarehouseViewName: above })
    expect(first.status).toMatchObject({ lastRunStatus: 'PENDING', pendingReason: expect.stringContaining(table) })
    expect((await scene.owner.get(`/views/${first.id}/data`).expect(404)).body.detail).toContain('is pending')
    expect(await run(second.id)).toMatchObject({ status: 'WARNING', message: expect.stringContaining(above) })
    expect(await statusOf(second.id)).toMatchObject({ lastRunStatus: 'PENDING' })
    await scene.owner.put(`/views/${first.id}`).send(first).expect(200)

    await load(pipeline.id, 'id\n1\n2\n')
    await until(async () => (await statusOf(second.id)).lastRunStatus === 'OK')
    expect(await statusOf(first.id)).toMatchObject({ lastRunStatus: 'OK' })
    expect(await statusOf(first.id)).not.toHaveProperty('pendingReason')
    expect(await rowsOf(first.id)).toEqual([[1], [2]])
    expect(await rowsOf(second.id)).toEqual([[2]])

    // Once the table exists, the status reports the error in the query.
    const wrong = await create(`select nothing from later_${table}`)
    expect(wrong.status).toMatchObject({ lastRunStatus: 'PENDING' })
    await run(wrong.id)
    expect(await statusOf(wrong.id)).not.toHaveProperty('lastRunSuccess')
    await create('select 1 as id', { dataWarehouseViewName: `later_${table}` })
    expect(await run(wrong.id)).toMatchObject({ status: 'FAILED', message: expect.stringContaining('"nothing"') })
    expect(await statusOf(wrong.id)).toMatchObject({ lastRunStatus: 'FAILED' })
    expect(await statusOf(wrong.id)).not.toHaveProperty('pendingReason')

    // A change that cannot be made is refused, and the view stays.
    const { body: saved } = await scene.owner.get(`/views/${first.id}`).expect(200)
    const changed = { ...saved, query: 'select * from nowhere' }
    expect((await scene.owner.put(`/views/${first.id}`).send(changed).expect(422)).body.detail).toContain('nowhere')
    expect(await rowsOf(first.id)).toEqual([[1], [2]])

    // New columns come with the next save or run.
    await load(pipeline.id, 'id,name\n1,Ama\n')
    const columns = async () => (await scene.owner.get(`/views/${first.id}/table`).expect(200)).body.columns.length
    await run(first.id)
    expect(await columns()).toBe(2)
    await load(pipeline.id, 'id,name,more\n1,Ama,5\n')
    await scene.owner.put(`/views/${first.id}`).send(saved).expect(200)
    expect(await columns()).toBe(3)
  })
})
