import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { spawnWorker, until, type WorkerProcess } from '../engine/worker-process.ts'
import { pipelineBody, startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, viewBody, type LoadedPlace } from './view-under-test.ts'

let service: Service
let client: string
let owner: Asking
let place: LoadedPlace
let worker: WorkerProcess
const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW', 'ROLE_MANAGE_WORKFLOW'] as const
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, [...roles, 'ROLE_MANAGE_DESTINATION']))
  place = await loadedPlace(service, owner, client)
  worker = await spawnWorker(service.environment)
})
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]()
  await service?.stop()
})

const counted = () => `select region, count(*)::int as n from ${place.table} group by region order by region`
const create = async (query: string, changes: object = {}) =>
  (
    await owner
      .post('/views')
      .send(viewBody(place.schema, query, changes))
      .expect(201)
  ).body
const rowsOf = async (id: string) => (await owner.get(`/views/${id}/data`).expect(200)).body.rows
const run = async (id: string) => {
  const { body } = await owner.post(`/views/${id}/run`).expect(202)
  const ended = async () => {
    const { body: runs } = await owner.get(`/views/${id}/runs`).expect(200)
    return runs.find(({ taskId, finished }: any) => taskId === body.data.taskId && finished)
  }
  return until(ended, { within: 60_000 })
}

describe('a view', () => {
  it('is in the warehouse as soon as it is made, and answers what the interface names', async () => {
    const sent = { description: 'By region.', tags: ['a', 'b'], anonymousAccess: { metadata: true, data: false } }
    const view = await create(counted(), { name: 'Cases by region', ...sent })
    expect(view).toMatchObject({
      ...sent,
      schema: { id: place.schema, schemaName: place.schemaName },
      query: counted(),
      dataWarehouseViewName: 'cases_by_region',
      qualifiedDataWarehouseViewName: `${place.schemaName}.cases_by_region`,
      warehouseAViewName: 'cases_by_region',
      scheduleable: true,
      displayDescription: 'By region.',
      tagString: 'a, b',
      status: { lastRunStatus: 'NEVER_RUN' },
      access: { accessLevel: 'PRIVATE' },
    })
    expect(await rowsOf(view.id)).toEqual([
      ['north', 2],
      ['south', 1],
    ])
    const { body: schema } = await owner.get(`/schemas/${place.schema}`).expect(200)
    expect(schema.statistics.views).toBeGreaterThan(0)
    const { body: found } = await owner.get('/views?filter=materialized:eq:false&filter=tags:in:%5Ba%5D').expect(200)
    expect(found.map(({ id }: any) => id)).toEqual([view.id])
    await owner.put(`/views/${view.id}`).send(view).expect(200)
  })

  it.each([true, false])('shows its columns, and its rows page by page (materialised: %s)', async (materialized) => {
    const view = await create(`select id, region as "Where it is" from ${place.table} order by id`, { materialized })
    const { body: table } = await owner.get(`/views/${view.id}/table`).expect(200)
    expect(table).toMatchObject({ displayName: view.name, columnCount: 2, rowCount: materialized ? 3 : 0 })
    expect(table.columns).toMatchObject([
      { name: 'id', dataType: 'INTEGER', dataTypeLabel: 'Integer' },
      { name: 'Where it is', dataType: 'TEXT' },
    ])
    const { body } = await owner.get(`/views/${view.id}/data?page=2&pageSize=2`).expect(200)
    expect(body).toMatchObject({ rows: [[3, 'north']], height: 1, width: 2 })
  })

  it('is not saved where its query fails, and the server’s sentence says why', async () => {
    const failing = viewBody(place.schema, `select id,\n  regoin from ${place.table}`)
    const { body } = await owner.post('/views').send(failing).expect(422)
    expect(body).toMatchObject({ code: 'query-failed', detail: expect.stringContaining('in line 2: column "regoin"') })
    expect(JSON.stringify(body)).not.toMatch(/create|sluice_/)
    const { headers } = await owner.get(`/views?query=${encodeURIComponent(failing.name)}`).expect(200)
    expect(headers['x-total-count']).toBe('0')
  })

  it.each([
    ['select ${x}', 'cannot use variables'],
    ['  \n ', 'blank'],
    ["select '${x}' as text", undefined],
  ])('takes %j: %s', async (query, refusal) => {
    const answer = await owner
      .post('/views')
      .send(viewBody(place.schema, query))
      .expect(refusal ? 422 : 201)
    if (refusal)
      expect(answer.body.errors).toMatchObject([{ pointer: '/query', detail: expect.stringContaining(refusal) }])
  })

  it('is not saved while the warehouse is away, and is deleted all the same', async () => {
    const elsewhere = await service.identity.client()
    const other = service.as(await service.identity.person(elsewhere.id, [...roles]))
    const there = await loadedPlace(service, other, elsewhere.id)
    const body = viewBody(there.schema, 'select 1 as a')
    const { body: made } = await other.post('/views').send(body).expect(201)
    const keys = service.stack.db.selectFrom('warehouses').select('key').where('client', '=', elsewhere.id)
    const { key } = await keys.executeTakeFirstOrThrow()
    await using superuser = await service.stack.inside(client)
    const connections = (limit: number) => superuser.query(`alter role c_${key}_load connection limit ${limit}`)
    await connections(0)
    await superuser.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'c_${key}'`)
    try {
      const answer = await other.post('/views').send(viewBody(there.schema, 'select 1 as a'))
      expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
      const { body: changed } = await other
        .put(`/views/${made.id}`)
        .send({ ...made, description: 'x' })
        .expect(200)
      expect(changed.description).toBe('x')
      await other.delete(`/views/${made.id}`).expect(204)
    } finally {
      await connections(220)
    }
    expect((await other.get('/views').expect(200)).body).toEqual([])
    const { body: again } = await other
      .post('/views')
      .send({ ...body, query: 'select 2 as b' })
      .expect(201)
    expect((await other.get(`/views/${again.id}/data`).expect(200)).body.rows).toEqual([[2]])
  })

  it('has a name in its schema that nothing else has', async () => {
    const view = await create('select 1 as a')
    const names = { dataWarehouseViewName: view.dataWarehouseViewName }
    const twice = await owner
      .post('/views')
      .send(viewBody(place.schema, 'select 2 as b', names))
      .expect(409)
    expect(twice.body.errors[0].pointer).toBe('/dataWarehouseViewName')
    const table = viewBody(place.schema, 'select 2 as b', { warehouseAViewName: place.table })
    expect((await owner.post('/views').send(table).expect(409)).body.detail).toContain('A data pipeline loads')
    expect(await rowsOf(view.id)).toEqual([[1]])
  })

  it('is changed, renamed and moved with whatever reads it, or stays what it was', async () => {
    const view = await create(`select id, region from ${place.table}`)
    const over = await create(`select count(region)::int as n from ${view.dataWarehouseViewName}`, {
      materialized: true,
    })
    const fails = await owner
      .put(`/views/${view.id}`)
      .send({ ...view, query: 'select nothing' })
      .expect(422)
    expect(fails.body.code).toBe('query-failed')
    const breaks = await owner
      .put(`/views/${view.id}`)
      .send({ ...view, query: 'select 1 as id' })
      .expect(422)
    expect(breaks.body).toMatchObject({ code: 'views-depend', detail: expect.stringContaining('The old view stays.') })
    expect(await rowsOf(view.id)).toHaveLength(3)
    const elsewhere = await loadedPlace(service, owner, client)
    const moved = {
      ...view,
      schema: { id: elsewhere.schema },
      dataWarehouseViewName: 'moved',
      materialized: true,
      query: `select region, true as known from ${place.schemaName}.${place.table} where id > 1`,
    }
    const { body } = await owner.put(`/views/${view.id}`).send(moved).expect(200)
    expect(body.qualifiedDataWarehouseViewName).toBe(`${elsewhere.schemaName}.moved`)
    expect([await rowsOf(view.id), await rowsOf(over.id)]).toEqual([
      [
        ['south', true],
        ['north', true],
      ],
      [[2]],
    ])
    const inUse = await owner.delete(`/views/${view.id}`).expect(409)
    expect(inUse.body.detail).toContain(`Other views read this view: "${over.name}"`)
  })

  it('is deleted in the warehouse too, once nothing uses it', async () => {
    const view = await create(counted())
    const { db } = service.stack
    const { id } = await db.selectFrom('views').select('id').where('uid', '=', view.id).executeTakeFirstOrThrow()
    const named = { client, name: `D ${id}`, disabled: true, run_trigger: 'NEVER' }
    await db
      .insertInto('destinations')
      .values({ ...named, type: 'SOURCE_SYSTEM_C', view_id: id })
      .execute()
    expect((await owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(`push this view: "D ${id}"`)
    await db.deleteFrom('destinations').where('view_id', '=', id).execute()
    const job = { jobType: 'VIEW_REFRESH', object: { uid: view.id } }
    const steps = { errorStrategy: 'STOP', steps: [{ executionMode: 'SERIAL', jobs: [job] }] }
    const workflow = { name: `W ${id}`, disabled: true, runTrigger: 'NEVER', continuouslyUpdated: false, steps }
    const { body: made } = await owner.post('/workflows').send(workflow).expect(201)
    expect((await owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(`refresh this view: "W ${id}"`)
    await owner.delete(`/workflows/${made.id}`).expect(204)
    await using load = await service.stack.inside(client)
    await load.query(`create view ${place.schemaName}.by_hand as select * from ${view.qualifiedDataWarehouseViewName}`)
    expect((await owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(`"${place.schemaName}.by_hand"`)
    await load.query(`drop view ${place.schemaName}.by_hand`)
    await owner.delete(`/views/${view.id}`).expect(204)
    await owner.get(`/views/${view.id}`).expect(404)
    const warehouse = await service.stack.warehouses.open(client)
    expect(await warehouse.findView(place.schemaName, view.dataWarehouseViewName)).toBeUndefined()
    expect((await owner.delete(`/schemas/${place.schema}`).expect(409)).body.detail).toMatch(/load into|Views are in/)
  })

  it('keeps its query while a run is at work', async () => {
    const view = await create('select 1 as a')
    const { id: runnable_id } = await service.stack.db
      .selectFrom('views')
      .select('id')
      .where('uid', '=', view.id)
      .executeTakeFirstOrThrow()
    const values = { runnable_id, client, trigger: 'MANUAL', state: 'RUNNING', heartbeat_at: new Date(), input: '{}' }
    const { id } = await service.stack.db.insertInto('runs').values(values).returning('id').executeTakeFirstOrThrow()
    const changed = { ...view, query: 'select 2 as a' }
    expect((await owner.put(`/views/${view.id}`).send(changed).expect(409)).body.errors[0].pointer).toBe('/query')
    await owner
      .put(`/views/${view.id}`)
      .send({ ...view, description: 'x' })
      .expect(200)
    await service.stack.db
      .updateTable('runs')
      .set({ state: 'CANCELLED', finished_at: new Date() })
      .where('id', '=', id)
      .execute()
    await owner.put(`/views/${view.id}`).send(changed).expect(200)
    expect(await rowsOf(view.id)).toEqual([[2]])
  })

  it('takes the place of one that was made but never saved', async () => {
    const warehouse = await service.stack.warehouses.open(client)
    const left = { id: randomUUID(), schema: place.schemaName, name: 'left_over', query: 'select 1 as a' }
    await warehouse.defineView({ ...left, materialized: true }, { seconds: 5 }, AbortSignal.timeout(5_000))
    const view = await create('select 2 as b', { dataWarehouseViewName: 'left_over' })
    expect(await rowsOf(view.id)).toEqual([[2]])
  })
})

describe('the preview of a view', () => {
  const preview = (query: string, more: object = {}) =>
    owner.post('/views/preview').send({ schema: { id: place.schema }, query, ...more })

  it('shows columns and rows of a query that is not saved, with names found as the view will find them', async () => {
    const { body } = await preview(`select id, region from ${place.table} order by id;`, { rows: 2 }).expect(200)
    expect(body).toMatchObject({
      rows: [
        [1, 'north'],
        [2, 'south'],
      ],
      columns: [{ name: 'id' }, { dataType: 'TEXT' }],
    })
    await owner
      .post('/views/preview')
      .send(await create(counted()))
      .expect(200)
  })

  it('changes nothing, and says what is wrong', async () => {
    for (const query of [
      'delete from x',
      `drop table ${place.table}`,
      'select 1; select 2',
      'select ${x}',
      'select nope',
    ])
      await preview(query).expect(422)
    const body = { schema: { id: randomUUID() }, query: 'select 1' }
    const { body: problem } = await owner.post('/views/preview').send(body).expect(422)
    expect(problem.errors[0].pointer).toBe('/schema/id')
  })
})

describe('a run of a view', () => {
  it('fills a materialised one anew, and tells of views behind it that are older than their sources', async () => {
    const types = { id: 'INTEGER', region: 'TEXT' }
    const first = await create(`select count(*)::int as n from ${place.table}`, { materialized: true })
    const second = await create(`select n * 10 as n from ${first.dataWarehouseViewName}`, { materialized: true })
    await fill(service, client, place, { types, rows: [[1, 'west']] })
    expect(await rowsOf(first.id)).toEqual([[3]])
    const pipelines = service.stack.db.selectFrom('data_pipelines').select('id').where('uid', '=', place.pipeline)
    const { id: runnable_id } = await pipelines.executeTakeFirstOrThrow()
    await service.stack.db
      .insertInto('runs')
      .values({ runnable_id, client, trigger: 'MANUAL', state: 'OK', finished_at: new Date(), input: '{}' })
      .execute()
    const stale = await run(second.id)
    expect(stale).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect(stale.message).toMatch(`older than their own sources: ${first.name}.`)
    expect((await run(first.id)).message).toBe(`Filled ${first.qualifiedDataWarehouseViewName} anew: 1 row.`)
    expect((await run(second.id)).message).not.toContain('older')
    expect(await rowsOf(second.id)).toEqual([[10]])
    const { body } = await owner.get(`/views/${second.id}`).expect(200)
    expect(body.status).toMatchObject({ lastRunStatus: 'OK', lastRunSuccess: expect.any(String) })
  })

  it('shows that a plain one can be read, or why not', async () => {
    const view = await create(`select 1 / (id - id) as a from ${place.table}`)
    expect(await run(view.id)).toMatchObject({ status: 'FAILED', message: expect.stringContaining('division by zero') })
    expect((await run((await create('select 1 as a')).id)).message).toContain('can be read: 1 column.')
  })

  it('makes it again where the warehouse has lost it', async () => {
    const view = await create('select 5 as a', { materialized: true })
    const warehouse = await service.stack.warehouses.open(client)
    await warehouse.dropView(place.schemaName, view.dataWarehouseViewName)
    expect((await owner.get(`/views/${view.id}/data`).expect(404)).body.detail).toContain('run it')
    expect(await run(view.id)).toMatchObject({ status: 'OK', rowsWritten: 1 })
    expect(await rowsOf(view.id)).toEqual([[5]])
  })

  it('fills what takes longer than anybody waits for', async () => {
    const view = await create('select pg_sleep(12)::text as a', { materialized: true })
    expect(view.status.lastRunStatus).toMatch(/QUEUED|RUNNING/)
    await until(async () => (await owner.get(`/views/${view.id}`)).body.status.lastRunStatus === 'OK')
    expect(await rowsOf(view.id)).toEqual([['']])
  }, 60_000)
})

describe('whoever may not', () => {
  it('sees and changes no view of others', async () => {
    const view = await create(counted(), { access: { publicAccess: 'NONE' } })
    const other = service.as(
      await service.identity.person(client, ['ROLE_MANAGE_VIEW', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE']),
    )
    for (const what of ['', '/table', '/data', '/runs']) await other.get(`/views/${view.id}${what}`).expect(404)
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    await owner.put(`/views/${view.id}/access`).send(access).expect(200)
    await other.get(`/views/${view.id}/data`).expect(200)
    await other.put(`/views/${view.id}`).send(view).expect(403)
    await other.post(`/views/${view.id}/run`).expect(403)
    const into = viewBody(place.schema, 'select 1 as a')
    expect((await other.post('/views').send(into).expect(422)).body.errors[0].pointer).toBe('/schema/id')
    const { body } = await other.get(`/views/${view.id}`).expect(200)
    expect(Object.keys(body.schema).toSorted()).toEqual(['id', 'name', 'schemaName'])
  })
})

describe('a data pipeline', () => {
  it('is not deleted while views read its table, nor given the name of a view, and shows its table', async () => {
    const other = await loadedPlace(service, owner, client)
    const view = viewBody(other.schema, `select id from ${other.table}`, { dataWarehouseViewName: 'over_it' })
    const { body: made } = await owner.post('/views').send(view).expect(201)
    const inUse = await owner.delete(`/data-pipelines/${other.pipeline}`).expect(409)
    expect(inUse.body.detail).toContain(`Views read this pipeline's table: "${made.name}"`)
    const { body: pipeline } = await owner.get(`/data-pipelines/${other.pipeline}`).expect(200)
    expect(pipeline.status.mainTableAsTable).toMatchObject({ name: other.table, rowCount: 3, columnCount: 2 })
    const target = { schema: { id: other.schema }, tableName: 'over_it' }
    const named = await owner
      .post('/data-pipelines')
      .send(pipelineBody(other.schema, { dataWarehouseTarget: target }))
      .expect(409)
    expect(named.body.errors[0].pointer).toBe('/dataWarehouseTarget/tableName')
    const inSchema = await owner.delete(`/schemas/${other.schema}`).expect(409)
    expect(inSchema.body.detail).toContain('Data pipelines load into')
    await owner.delete(`/views/${made.id}`).expect(204)
    await owner.delete(`/data-pipelines/${other.pipeline}`).expect(204)
    await owner.delete(`/schemas/${other.schema}`).expect(204)
  })
})
