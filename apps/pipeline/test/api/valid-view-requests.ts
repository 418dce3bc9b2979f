import { columns, stage } from '@sluice/warehouses/testing/row-fixtures'
import { pipelineBody, schemaBody, type Asking, type Service } from './app-under-test.ts'
import { viewBody } from './view-fixtures.ts'

interface Scene {
  owner: Asking
  service: Service
  client: string
  loaded: { schema: string; pipeline: string; table: string }
}

/** A good request of each operation of views, of the catalogue, of queries, and of what is open to anybody. */
export function goodViews(scene: () => Scene) {
  const body = (changes: object = {}) =>
    viewBody(scene().loaded.schema, `select * from ${scene().loaded.table}`, { description: 'All of it.', ...changes })
  const fresh = async (changes: object = {}) =>
    (await scene().owner.post('/views').send(body(changes)).expect(201)).body.id as string
  const running = async () => {
    const uid = await fresh({ materialized: true })
    await scene().owner.post(`/views/${uid}/run`).expect(202)
    return uid
  }
  const anonymousAccess = { metadata: true, data: true }
  const openPipeline = async () => {
    const { owner, loaded } = scene()
    const { body: pipeline } = await owner.get(`/data-pipelines/${loaded.pipeline}`).expect(200)
    await owner
      .put(`/data-pipelines/${loaded.pipeline}`)
      .send({ ...pipeline, anonymousAccess })
      .expect(200)
    return loaded.pipeline
  }
  const staged = async () => {
    const { owner, loaded, service, client } = scene()
    const { body: pipeline } = await owner.post('/data-pipelines').send(pipelineBody(loaded.schema)).expect(201)
    const { schema, tableName } = pipeline.dataWarehouseTarget
    const target = { schema: schema.schemaName, table: tableName, columns: columns({ id: 'INTEGER' }) }
    await stage(await service.stack.warehouses.open(client), target, [[1]])
    return pipeline.id as string
  }

  const ofLoaded = () => ({
    sql: `select * from ${scene().loaded.table} where a > \${LEAST}`,
    schemas: [{ id: scene().loaded.schema }],
    variables: [{ name: 'LEAST', value: '0' }],
  })

  return {
    'views.list': async () => ({ query: '?filter=materialized:eq:true&order=name:idesc' }),
    'views.search': async () => ({ body: { query: 'view', paging: { total: true } } }),
    'views.create': async () => ({ body: body({ materialized: true, tags: ['a'], anonymousAccess }) }),
    'views.read': async () => ({ uid: await fresh() }),
    'views.update': async () => ({ uid: await fresh(), body: body() }),
    'views.lineage': async () => ({ uid: await fresh() }),
    'views.delete': async () => ({ uid: await fresh() }),
    'views.share': async () => ({
      uid: await fresh(),
      body: { publicAccess: 'READ', userAccess: [], userGroupAccess: [] },
    }),
    'views.run': async () => ({ uid: await fresh(), body: { mode: 'FULL' } }),
    'views.cancel': async () => ({ uid: await running() }),
    'views.runs': async () => ({ uid: await running(), query: '?pageSize=1' }),
    'views.preview': async () => ({ body: { ...body(), rows: 1 } }),
    'views.table': async () => ({ uid: await fresh() }),
    'views.data': async () => ({ uid: await fresh({ materialized: true }), query: '?page=1&pageSize=10' }),
    'schemas.saveAll': async () => ({ body: [schemaBody(), schemaBody()] }),
    'schemas.tables': async () => ({ uid: scene().loaded.schema, query: '?pageSize=5' }),
    'schemas.table': async () => ({ uid: scene().loaded.schema }),
    'schemas.describeTable': async () => ({
      uid: scene().loaded.schema,
      body: { description: 'What was loaded.', columns: [{ name: 'a', description: 'A number.' }] },
    }),
    'schemas.tableLineage': async () => ({ uid: scene().loaded.schema }),
    'schemas.columns': async () => ({ uid: scene().loaded.schema }),
    'schemas.tableData': async () => ({ uid: scene().loaded.schema, query: '?pageSize=10' }),
    'schemas.tableProfile': async () => ({ uid: scene().loaded.schema }),
    'catalogue.names': async () => ({ query: '?prefix=a&limit=5' }),
    'queries.run': async () => ({ body: { ...ofLoaded(), limit: 5 } }),
    'queries.explain': async () => ({ body: ofLoaded() }),
    'tables.list': async () => ({ query: '?query=a&page=1' }),
    'dataPipelines.stagingTable': async () => ({ uid: await staged() }),
    'public.dataPipeline': async () => ({ uid: await openPipeline() }),
    'public.dataPipelineData': async () => ({ uid: await openPipeline(), query: '?pageSize=10' }),
    'public.view': async () => ({ uid: await fresh({ anonymousAccess }) }),
    'public.viewData': async () => ({ uid: await fresh({ anonymousAccess }), query: '?pageSize=10' }),
  }
}
