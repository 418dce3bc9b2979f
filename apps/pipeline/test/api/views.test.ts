import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { pipelineBody } from './app-under-test.ts'
import { loadedPlace, viewBody } from './view-fixtures.ts'
import { roles, viewsUnderTest } from './view-service-setup.ts'

const scene = viewsUnderTest()
const { create, rowsOf } = scene
const counted = () => `select region, count(*)::int as n from ${scene.place.table} group by region order by region`

describe('a view', () => {
  it('exists in the warehouse after it is created, and returns all documented fields', async () => {
    const sent = { description: 'By region.', tags: ['a', 'b'], anonymousAccess: { metadata: true, data: false } }
    const view = await create(counted(), { name: 'Cases by region', ...sent })
    expect(view).toMatchObject({
      ...sent,
      schema: { id: scene.place.schema, schemaName: scene.place.schemaName },
      query: counted(),
      dataWarehouseViewName: 'cases_by_region',
      qualifiedDataWarehouseViewName: `${scene.place.schemaName}.cases_by_region`,
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
    const { body: schema } = await scene.owner.get(`/schemas/${scene.place.schema}`).expect(200)
    expect(schema.statistics.views).toBeGreaterThan(0)
    expect(view.schema.statistics).toEqual(schema.statistics)
    const { body: found } = await scene.owner
      .get('/views?filter=materialized:eq:false&filter=tags:in:%5Ba%5D')
      .expect(200)
    expect(found.map(({ id }: any) => id)).toEqual([view.id])
    await scene.owner.put(`/views/${view.id}`).send(view).expect(200)
  })

  it.each([true, false])('returns its columns, and pages of its rows (materialised: %s)', async (materialized) => {
    const view = await create(`select id, region as "Where it is" from ${scene.place.table} order by id`, {
      materialized,
    })
    const { body: table } = await scene.owner.get(`/views/${view.id}/table`).expect(200)
    expect(table).toMatchObject({ displayName: view.name, columnCount: 2, rowCount: materialized ? 3 : 0 })
    expect(table.columns).toMatchObject([
      { name: 'id', dataType: 'INTEGER', dataTypeLabel: 'Integer' },
      { name: 'Where it is', dataType: 'TEXT' },
    ])
    const { body } = await scene.owner.get(`/views/${view.id}/data?page=2&pageSize=2`).expect(200)
    expect(body).toMatchObject({ rows: [[3, 'north']], height: 1, width: 2 })
  })

  it('is refused if its query fails, with the message of the database', async () => {
    const failing = viewBody(scene.place.schema, `select id,\n  regoin from ${scene.place.table}`)
    const { body } = await scene.owner.post('/views').send(failing).expect(422)
    expect(body).toMatchObject({ code: 'query-failed', detail: expect.stringContaining('in line 2: column "regoin"') })
    expect(JSON.stringify(body)).not.toMatch(/create|sluice_/)
    const { headers } = await scene.owner.get(`/views?query=${encodeURIComponent(failing.name)}`).expect(200)
    expect(headers['x-total-count']).toBe('0')
  })

  it.each([
    ['select ${x}', 'cannot use variables'],
    ['  \n ', 'blank'],
    ["select '${x}' as text", 'cannot use variables'],
    ['select 1 as "${x}"', 'cannot use variables'],
    ['select 1 as number -- ${x}', undefined],
  ])('validates the query %j, with the reason for the refusal or undefined: %s', async (query, refusal) => {
    const answer = await scene.owner
      .post('/views')
      .send(viewBody(scene.place.schema, query))
      .expect(refusal ? 422 : 201)
    if (refusal)
      expect(answer.body.errors).toMatchObject([{ pointer: '/query', detail: expect.stringContaining(refusal) }])
  })

  it('is not created while the warehouse is unavailable, but can be described and deleted', async () => {
    const elsewhere = await scene.service.identity.client()
    const other = scene.service.as(await scene.service.identity.person(elsewhere.id, [...roles]))
    const there = await loadedPlace(scene.service, other, elsewhere.id)
    const body = viewBody(there.schema, 'select 1 as a')
    const { body: made } = await other.post('/views').send(body).expect(201)
    const keys = scene.service.stack.db.selectFrom('warehouses').select('key').where('client', '=', elsewhere.id)
    const { key } = await keys.executeTakeFirstOrThrow()
    await using superuser = await scene.service.stack.inside(scene.client)
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

  it('has a unique name among the views and tables of its schema', async () => {
    const view = await create('select 1 as a')
    const names = { dataWarehouseViewName: view.dataWarehouseViewName }
    const twice = await scene.owner
      .post('/views')
      .send(viewBody(scene.place.schema, 'select 2 as b', names))
      .expect(409)
    expect(twice.body.errors[0].pointer).toBe('/dataWarehouseViewName')
    const table = viewBody(scene.place.schema, 'select 2 as b', { warehouseAViewName: scene.place.table })
    expect((await scene.owner.post('/views').send(table).expect(409)).body.detail).toContain('A data pipeline loads')
    expect(await rowsOf(view.id)).toEqual([[1]])
  })

  it('stores the dashboard fields of its status, and ignores the other status fields', async () => {
    const dashboard = { visualizationId: 9_007_199_254_740_991, visualizationHref: 'https://bi.example.org/d/7?a=b' }
    const view = await create('select 1 as a', { status: { lastRunStatus: 'OK', ...dashboard } })
    expect(view.status).toEqual({ lastRunStatus: 'NEVER_RUN', ...dashboard })
    const again = await scene.owner.put(`/views/${view.id}`).send(view).expect(200)
    expect(again.body.status).toEqual(view.status)
    const unsafe = { ...view, status: { visualizationHref: 'javascript:alert(1)' } }
    const { body } = await scene.owner.put(`/views/${view.id}`).send(unsafe).expect(400)
    expect(body.errors[0].pointer).toBe('/status/visualizationHref')
    const without = { ...view, status: { lastRunStatus: 'NEVER_RUN' } }
    expect((await scene.owner.put(`/views/${view.id}`).send(without).expect(200)).body.status).toEqual(without.status)
  })

  it('is renamed by either name field, and refused if both change to different names', async () => {
    const view = await create('select 1 as a', { dataWarehouseViewName: 'alias_a' })
    const put = (names: object) => scene.owner.put(`/views/${view.id}`).send({ ...view, ...names })
    const nameAfter = async (names: object) => (await put(names).expect(200)).body.dataWarehouseViewName
    expect(await nameAfter({ warehouseAViewName: 'alias_b' })).toBe('alias_b')
    expect(await nameAfter({ dataWarehouseViewName: 'alias_c', warehouseAViewName: 'alias_b' })).toBe('alias_c')
    expect(await nameAfter({ dataWarehouseViewName: 'alias_d', warehouseAViewName: 'alias_d' })).toBe('alias_d')
    const { body } = await put({ dataWarehouseViewName: 'alias_e', warehouseAViewName: 'alias_f' }).expect(422)
    expect(body.errors).toEqual([
      { pointer: '/warehouseAViewName', detail: expect.stringContaining('dataWarehouseViewName') },
    ])
    const both = { dataWarehouseViewName: 'alias_g', warehouseAViewName: 'alias_h' }
    await scene.owner
      .post('/views')
      .send(viewBody(scene.place.schema, 'select 1 as a', both))
      .expect(422)
    const wrong = await put({ dataWarehouseViewName: 'alias_d', warehouseAViewName: 'Not A Name' }).expect(422)
    expect(wrong.body.errors[0].pointer).toBe('/warehouseAViewName')
  })

  it('is changed, renamed and moved together with the views that read it, or stays unchanged', async () => {
    const view = await create(`select id, region from ${scene.place.table}`)
    const over = await create(`select count(region)::int as n from ${view.dataWarehouseViewName}`, {
      materialized: true,
    })
    const fails = await scene.owner
      .put(`/views/${view.id}`)
      .send({ ...view, query: 'select nothing' })
      .expect(422)
    expect(fails.body.code).toBe('query-failed')
    const breaks = await scene.owner
      .put(`/views/${view.id}`)
      .send({ ...view, query: 'select 1 as id' })
      .expect(422)
    expect(breaks.body).toMatchObject({ code: 'views-depend', detail: expect.stringContaining('The old view stays.') })
    expect(await rowsOf(view.id)).toHaveLength(3)
    const elsewhere = await loadedPlace(scene.service, scene.owner, scene.client)
    const moved = {
      ...view,
      schema: { id: elsewhere.schema },
      dataWarehouseViewName: 'moved',
      materialized: true,
      query: `select region, true as known from ${scene.place.schemaName}.${scene.place.table} where id > 1`,
    }
    const { body } = await scene.owner.put(`/views/${view.id}`).send(moved).expect(200)
    expect(body.qualifiedDataWarehouseViewName).toBe(`${elsewhere.schemaName}.moved`)
    expect([await rowsOf(view.id), await rowsOf(over.id)]).toEqual([
      [
        ['south', true],
        ['north', true],
      ],
      [[2]],
    ])
    const inUse = await scene.owner.delete(`/views/${view.id}`).expect(409)
    expect(inUse.body.detail).toContain(`is used by the views "${over.name}".`)
  })

  it('is deleted in the warehouse too, but not while destinations, workflows or views use it', async () => {
    const view = await create(counted())
    const { db } = scene.service.stack
    const { id } = await db.selectFrom('views').select('id').where('uid', '=', view.id).executeTakeFirstOrThrow()
    const named = { client: scene.client, name: `D ${id}`, disabled: true, run_trigger: 'NEVER' }
    await db
      .insertInto('destinations')
      .values({ ...named, type: 'SOURCE_SYSTEM_C', view_id: id })
      .execute()
    expect((await scene.owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(
      'is used by destinations that are not shared with you.',
    )
    await db.deleteFrom('destinations').where('view_id', '=', id).execute()
    const job = { jobType: 'VIEW_REFRESH', object: { uid: view.id } }
    const steps = { errorStrategy: 'STOP', steps: [{ executionMode: 'SERIAL', jobs: [job] }] }
    const workflow = { name: `W ${id}`, disabled: true, runTrigger: 'NEVER', continuouslyUpdated: false, steps }
    const { body: made } = await scene.owner.post('/workflows').send(workflow).expect(201)
    expect((await scene.owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(
      `is used by the workflows "W ${id}".`,
    )
    await scene.owner.delete(`/workflows/${made.id}`).expect(204)
    await using load = await scene.service.stack.inside(scene.client)
    await load.query(
      `create view ${scene.place.schemaName}.by_hand as select * from ${view.qualifiedDataWarehouseViewName}`,
    )
    expect((await scene.owner.delete(`/views/${view.id}`).expect(409)).body.detail).toContain(
      `"${scene.place.schemaName}.by_hand"`,
    )
    await load.query(`drop view ${scene.place.schemaName}.by_hand`)
    await scene.owner.delete(`/views/${view.id}`).expect(204)
    await scene.owner.get(`/views/${view.id}`).expect(404)
    const warehouse = await scene.service.stack.warehouses.open(scene.client)
    expect(await warehouse.views.find(scene.place.schemaName, view.dataWarehouseViewName)).toBeUndefined()
    expect((await scene.owner.delete(`/schemas/${scene.place.schema}`).expect(409)).body.detail).toMatch(
      /^This schema is used by the (data pipelines|views) /,
    )
  })

  it('cannot change its query while a run is running', async () => {
    const view = await create('select 1 as a')
    const { id: runnable_id } = await scene.service.stack.db
      .selectFrom('views')
      .select('id')
      .where('uid', '=', view.id)
      .executeTakeFirstOrThrow()
    const values = {
      runnable_id,
      client: scene.client,
      trigger: 'MANUAL',
      state: 'RUNNING',
      heartbeat_at: new Date(),
      input: '{}',
    }
    const { id } = await scene.service.stack.db
      .insertInto('runs')
      .values(values)
      .returning('id')
      .executeTakeFirstOrThrow()
    const changed = { ...view, query: 'select 2 as a' }
    expect((await scene.owner.put(`/views/${view.id}`).send(changed).expect(409)).body.errors[0].pointer).toBe('/query')
    await scene.owner
      .put(`/views/${view.id}`)
      .send({ ...view, description: 'x' })
      .expect(200)
    await scene.service.stack.db
      .updateTable('runs')
      .set({ state: 'CANCELLED', finished_at: new Date() })
      .where('id', '=', id)
      .execute()
    await scene.owner.put(`/views/${view.id}`).send(changed).expect(200)
    expect(await rowsOf(view.id)).toEqual([[2]])
  })

  it('replaces a leftover warehouse view of the same name', async () => {
    const warehouse = await scene.service.stack.warehouses.open(scene.client)
    const left = { id: randomUUID(), schema: scene.place.schemaName, name: 'left_over', query: 'select 1 as a' }
    await warehouse.views.define({ ...left, materialized: true }, { seconds: 5 }, AbortSignal.timeout(5_000))
    const view = await create('select 2 as b', { dataWarehouseViewName: 'left_over' })
    expect(await rowsOf(view.id)).toEqual([[2]])
  })
})

describe('a user without access', () => {
  it('cannot read a private view, or change a view that is shared for reading', async () => {
    const view = await create(counted(), { access: { publicAccess: 'NONE' } })
    const other = scene.service.as(
      await scene.service.identity.person(scene.client, ['ROLE_MANAGE_VIEW', 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE']),
    )
    for (const what of ['', '/table', '/data', '/runs']) await other.get(`/views/${view.id}${what}`).expect(404)
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    await scene.owner.put(`/views/${view.id}/access`).send(access).expect(200)
    await other.get(`/views/${view.id}/data`).expect(200)
    await other.put(`/views/${view.id}`).send(view).expect(403)
    await other.post(`/views/${view.id}/run`).expect(403)
    const into = viewBody(scene.place.schema, 'select 1 as a')
    expect((await other.post('/views').send(into).expect(422)).body.errors[0].pointer).toBe('/schema/id')
    const { body } = await other.get(`/views/${view.id}`).expect(200)
    expect(Object.keys(body.schema).toSorted()).toEqual(['id', 'name', 'schemaName'])
  })
})

describe('a data pipeline whose table is read by views', () => {
  it('cannot be deleted; and no pipeline can load into the name of a view', async () => {
    const other = await loadedPlace(scene.service, scene.owner, scene.client)
    const view = viewBody(other.schema, `select id from ${other.table}`, { dataWarehouseViewName: 'over_it' })
    const { body: made } = await scene.owner.post('/views').send(view).expect(201)
    const inUse = await scene.owner.delete(`/data-pipelines/${other.pipeline}`).expect(409)
    expect(inUse.body.detail).toContain(`This data pipeline is used by the views "${made.name}".`)
    const { body: pipeline } = await scene.owner.get(`/data-pipelines/${other.pipeline}`).expect(200)
    expect(pipeline.status.mainTableAsTable).toMatchObject({ name: other.table, rowCount: 3, columnCount: 2 })
    const target = { schema: { id: other.schema }, tableName: 'over_it' }
    const named = await scene.owner
      .post('/data-pipelines')
      .send(pipelineBody(other.schema, { dataWarehouseTarget: target }))
      .expect(409)
    expect(named.body.errors[0].pointer).toBe('/dataWarehouseTarget/tableName')
    const inSchema = await scene.owner.delete(`/schemas/${other.schema}`).expect(409)
    expect(inSchema.body.detail).toContain('This schema is used by the data pipelines ')
    await scene.owner.delete(`/views/${made.id}`).expect(204)
    await scene.owner.delete(`/data-pipelines/${other.pipeline}`).expect(204)
    await scene.owner.delete(`/schemas/${other.schema}`).expect(204)
  })
})
