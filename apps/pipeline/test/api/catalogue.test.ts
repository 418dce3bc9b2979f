import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { columns, loadAll, stage } from '@sluice/warehouses/testing/row-fixtures'
import { schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { fill, loadedPlace, viewBody, type LoadedPlace } from './view-fixtures.ts'

let service: Service
let client: string
let owner: Asking
let place: LoadedPlace
const manage = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_VIEW'] as const
const person = async (...roles: Parameters<Service['identity']['person']>[1]) =>
  service.as(await service.identity.person(client, roles))
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = await person(...manage)
  place = await loadedPlace(service, owner, client, { schema: { access: { publicAccess: 'READ' } } })
})
afterAll(() => service?.stop())

const namesOf = async (asking: Asking, path: string) =>
  (await asking.get(path).expect(200)).body.map(({ name }: { name: string }) => name)

describe('the tables of a schema', () => {
  it('have columns, row and column counts, and the name of their pipeline as display name', async () => {
    const path = `/schemas/${place.schema}/tables`
    const { body, headers } = await owner.get(path).expect(200)
    expect(headers).toMatchObject({ 'x-total-count': '1', 'x-page': '1' })
    expect(body).toMatchObject([
      { schema: place.schemaName, name: place.table, rowCount: 3, columnCount: 2, foreignKeys: [] },
    ])
    expect(body[0].displayName).toMatch(/^Pipeline /)
    const { body: one } = await owner.get(`${path}/${place.table}`).expect(200)
    expect(one).toEqual(body[0])
    const { body: listed } = await owner.get(`${path}/${place.table}/columns`).expect(200)
    expect(listed).toEqual(one.columns)
    await owner.get(`${path}/no_such_table`).expect(404)
    await owner.get(`/schemas/${randomUUID()}/tables`).expect(404)
  })

  it('are listed page by page, also across all schemas, and found by name', async () => {
    const other = await loadedPlace(service, owner, client)
    const all = await namesOf(owner, '/tables')
    expect(all).toEqual(expect.arrayContaining([place.table, other.table]))
    const { body, headers } = await owner.get('/tables?page=2&pageSize=1').expect(200)
    expect([body.length, headers['x-total-count']]).toEqual([1, String(all.length)])
    expect(await namesOf(owner, `/tables?query=${other.table.slice(3)}`)).toEqual([other.table])
    await owner.get('/tables?pageSize=201').expect(400)
  })

  it('report the statistics of the columns from the profile of the load', async () => {
    const table = 'measured'
    const at = { schemaName: place.schemaName, table }
    await fill(service, client, at, { types: { on: 'DATE', n: 'INTEGER' }, rows: [] })
    const warehouse = await service.stack.warehouses.open(client)
    const shape = columns({ n: 'INTEGER', on: 'DATE', at: 'TIMESTAMPTZ', r: 'DECIMAL(10,2)', t: 'TEXT' })
    const target = { schema: place.schemaName, table: 'profiled', columns: shape, run: randomUUID(), attempt: 1 }
    await using load = await warehouse.loader.stage(target, AbortSignal.timeout(10_000))
    const statistics = [
      { column: 'n', nulls: 1, distinct: 7, min: '-3', max: '12' },
      { column: 'on', nulls: 0, distinct: 3, min: '1970-01-02', max: '2020-02-29' },
      { column: 'at', nulls: 0, distinct: 3, min: '1970-01-01 00:00:00.25+00', max: '12020-01-01 00:00:00+00' },
      { column: 'r', nulls: 0, distinct: 3, min: 'NaN', max: '1.50' },
      { column: 't', nulls: 5, distinct: 2, min: 'a', max: 'z' },
    ]
    const { id } = await service.stack.db
      .insertInto('table_profiles')
      .columns(['schema_id', 'table_name', 'run', 'rows', 'statistics', 'columns'])
      .expression((eb) =>
        eb
          .selectFrom('schemas')
          .where('uid', '=', place.schema)
          .select(({ val, cast }) => [
            'id',
            val('profiled').as('table_name'),
            cast<string>(val(target.run), 'uuid').as('run'),
            cast<number>(val(0), 'bigint').as('rows'),
            cast<unknown>(val(JSON.stringify(statistics)), 'json').as('statistics'),
            cast<unknown>(val('[]'), 'json').as('columns'),
          ]),
      )
      .returning('id')
      .executeTakeFirstOrThrow()
    await load.write({ format: 'copy-binary', rows: async function* () {} }, AbortSignal.timeout(10_000))
    load.profile = id
    await warehouse.loader.publish([load], async () => true, AbortSignal.timeout(10_000))
    const all = await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    const { body } = await all.get(`/schemas/${place.schema}/tables/profiled/columns`).expect(200)
    expect(body).toMatchObject([
      { name: 'n', dataTypeLabel: 'Integer', nullValues: 1, distinctValues: 7, minValue: -3, maxValue: 12 },
      { name: 'on', minValue: 86_400_000, maxValue: Date.UTC(2020, 1, 29) },
      { name: 'at', minValue: 250, maxValue: Date.UTC(12020, 0, 1) },
      { name: 'r', dataTypeLabel: 'Decimal(10, 2)', maxValue: 1.5 },
      { name: 't', nullValues: 5, distinctValues: 2 },
    ])
    expect(body[3]).not.toHaveProperty('minValue')
    expect(body[4]).not.toHaveProperty('maxValue')
  })
})

describe('a search for tables', () => {
  it('finds tables only of pipelines, views and schemas that the user may read', async () => {
    const view = viewBody(place.schema, 'select 1 as a', {
      access: { publicAccess: 'READ' },
      dataWarehouseViewName: 'open_view',
    })
    await owner.post('/views').send(view).expect(201)
    const hidden = await loadedPlace(service, owner, client, { pipeline: { access: { publicAccess: 'READ' } } })
    const path = `/schemas/${place.schema}/tables`
    expect(await namesOf(await person('ROLE_SEE_SCHEMA'), path)).toEqual([])
    expect(await namesOf(await person('ROLE_SEE_SCHEMA', 'ROLE_SEE_VIEW'), path)).toEqual(['open_view'])
    const seer = await person('ROLE_SEE_SCHEMA', 'ROLE_SEE_DATA_PIPELINE', 'ROLE_SEE_VIEW')
    expect(await namesOf(seer, '/tables')).toEqual(['open_view'])
    await seer.get(`${path}/${place.table}`).expect(404)
    await seer.get(`/schemas/${hidden.schema}/tables`).expect(404)
    const access = { publicAccess: 'READ', userAccess: [], userGroupAccess: [] }
    await owner.put(`/data-pipelines/${place.pipeline}/access`).send(access).expect(200)
    expect(await namesOf(seer, '/tables')).toEqual(['open_view', place.table])
  })

  it('finds all loaded tables with ROLE_VIEW_DATA_ALL_DATA_PIPELINE, but no view of other users', async () => {
    await using load = await service.stack.inside(client)
    await load.query(`create table ${place.schemaName}.by_hand (a int)`)
    const { body: view } = await owner.post('/views').send(viewBody(place.schema, 'select 1 as a')).expect(201)
    const all = await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    const names = await namesOf(all, `/schemas/${place.schema}/tables`)
    expect(names).toEqual(expect.arrayContaining(['by_hand', place.table]))
    expect(names).not.toContain(view.dataWarehouseViewName)
    expect(await namesOf(owner, `/schemas/${place.schema}/tables`)).not.toContain('by_hand')
  })

  it('finds nothing of another organisation, and is forbidden without a role that may see tables', async () => {
    const elsewhere = await service.identity.client()
    const stranger = service.as(
      await service.identity.person(elsewhere.id, [...manage, 'ROLE_VIEW_DATA_ALL_DATA_PIPELINE']),
    )
    expect(await namesOf(stranger, '/tables')).toEqual([])
    await stranger.get(`/schemas/${place.schema}/tables`).expect(404)
    await stranger.get(`/schemas/${place.schema}/tables/${place.table}`).expect(404)
    await (await person('ROLE_MANAGE_VIEW')).get('/tables').expect(403)
  })
})

describe('a column', () => {
  it('has a value expression that works in a query, and is an id only if it is the whole primary key', async () => {
    const warehouse = await service.stack.warehouses.open(client)
    const shape = (keys: string[]) =>
      columns({ id: 'INTEGER', region: 'TEXT' }).map((column) => ({
        ...column,
        primaryKey: keys.includes(column.name),
      }))
    const idsOf = async (table: string, keys: string[]) => {
      await loadAll(warehouse, { schema: place.schemaName, table, columns: shape(keys) }, [[1, 'a']])
      const { body } = await all.get(`/schemas/${place.schema}/tables/${table}/columns`).expect(200)
      return body.map(({ id }: { id: boolean }) => id)
    }
    const all = await person('ROLE_VIEW_DATA_ALL_DATA_PIPELINE')
    expect(await idsOf('of_one_key', ['id'])).toEqual([true, false])
    expect(await idsOf('of_two_keys', ['id', 'region'])).toEqual([false, false])
    const { body } = await all.get(`/schemas/${place.schema}/tables/of_one_key/columns`).expect(200)
    expect(body[1]).toMatchObject({
      tableAlias: 'of_one_key',
      valueExpression: '"of_one_key"."region"',
      sortKey: false,
    })
    const query = `select ${body[1].valueExpression} as r from ${place.schemaName}.of_one_key`
    const rows = await warehouse.queries.query({ text: query })
    expect(rows.rows).toEqual([['a']])
  })
})

describe('the staging table of a pipeline', () => {
  it('exists only while it contains rows', async () => {
    const path = `/data-pipelines/${place.pipeline}/staging-table`
    const nameInTarget = async () => {
      const { body: pipeline } = await owner.get(`/data-pipelines/${place.pipeline}`).expect(200)
      await owner.put(`/data-pipelines/${place.pipeline}`).send(pipeline).expect(200)
      return pipeline.dataWarehouseTarget.stagingTableName
    }
    await owner.get(path).expect(404)
    expect(await nameInTarget()).toBeUndefined()
    const warehouse = await service.stack.warehouses.open(client)
    const shape = columns({ id: 'INTEGER', region: 'TEXT' })
    await using load = await stage(warehouse, { schema: place.schemaName, table: place.table, columns: shape }, [
      [1, 'a'],
    ])
    const { body } = await owner.get(path).expect(200)
    expect(body).toMatchObject({ schema: 'sluice', name: load.stagingTable, columnCount: 2, rowCount: 1 })
    expect(await nameInTarget()).toBe(load.stagingTable)
    await (await person('ROLE_SEE_SCHEMA')).get(path).expect(403)
  })
})

describe('the bulk save of schemas', () => {
  it('creates or replaces schemas by name, and saves none if one is refused', async () => {
    const [one, other] = [schemaBody(), schemaBody()]
    const { body } = await owner.put('/schemas').send([one, other]).expect(200)
    expect(body).toMatchObject([{ name: one.name }, { name: other.name }])
    const again = await owner
      .put('/schemas')
      .send([{ ...body[0], description: 'Again.' }])
      .expect(200)
    expect(again.body).toMatchObject([{ id: body[0].id, description: 'Again.' }])
    const third = schemaBody()
    const moved = { ...body[1], schemaName: 'other_name' }
    const refused = await owner.put('/schemas').send([third, moved]).expect(422)
    expect(refused.body.errors).toMatchObject([{ pointer: '/1/schemaName' }])
    const taken = await owner
      .put('/schemas')
      .send([third, schemaBody({ schemaName: body[0].schemaName })])
      .expect(409)
    expect(taken.body.errors).toMatchObject([{ pointer: '/1/schemaName' }])
    expect((await owner.get(`/schemas?query=${encodeURIComponent(third.name)}`).expect(200)).body).toEqual([])
    const twice = await owner.put('/schemas').send([third, third]).expect(422)
    expect(twice.body.errors).toMatchObject([{ pointer: '/1/name' }])
    const stranger = await person('ROLE_MANAGE_SCHEMA')
    const hidden = await stranger
      .put('/schemas')
      .send([schemaBody({ name: one.name })])
      .expect(409)
    expect(hidden.body.errors).toMatchObject([{ pointer: '/0/name' }])
    await owner.put('/schemas').send([]).expect(400)
  })
})
