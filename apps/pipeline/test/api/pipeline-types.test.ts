import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { pipelineTypes, connectorNames } from '@sluice/contracts'
import { unsealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'

let service: Service
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  owner = service.as(await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

const password = `pass-${randomUUID()}`
const jdbcSource = { hostname: 'db.example.org', database: 'registry', username: 'reader' }
const databaseBody = (changes: object = {}) =>
  pipelineBody(schema, { type: 'SQL_DATABASE_D', jdbcSource, sqlQuery: 'select 1', ...changes })
const create = async (body: object) => (await owner.post('/data-pipelines').send(body).expect(201)).body
const pointers = (body: any): string[] => body.errors.map(({ pointer }: { pointer: string }) => pointer)

/** What is stored of a pipeline's secrets, opened. */
const stored = async (uid: string) => {
  const row = await service.stack.db
    .selectFrom('data_pipelines')
    .select(['uid', 'source_secrets'])
    .where('uid', '=', uid)
    .executeTakeFirstOrThrow()
  return { sealed: row.source_secrets, open: unsealSourceSecrets(row, service.config.SECRET_KEYS) }
}

describe('a pipeline', () => {
  it.each([
    ['CSV_UPLOAD', { csvOptions: { delimiter: ':', nullValues: ['NA'], columns: [{ index: 0, dataType: 'TEXT' }] } }],
    ['PARQUET_UPLOAD', {}],
    ['SQL_DATABASE_A', { jdbcSource, tables: [{ schema: 'dbo', name: 'cases' }] }],
    ['SQL_DATABASE_B', { jdbcSource, tables: [{ name: 'cases' }] }],
    ['SQL_DATABASE_C', { jdbcSource, sqlQuery: 'select * from cases' }],
    ['SQL_DATABASE_D', { jdbcSource, sqlQuery: 'select 1', roleIdentifier: 'r', region: 'EU_WEST_1' }],
  ] as const)('of type %s returns its own fields, and accepts the body of POST in PUT', async (type, own) => {
    const made = await create(pipelineBody(schema, { type, ...own }))
    expect(made).toMatchObject({ type, typeName: connectorNames[type], typeKey: type.toLowerCase(), ...own })
    const { body } = await owner.put(`/data-pipelines/${made.id}`).send(made).expect(200)
    expect(body).toMatchObject({ type, ...own })
  })

  it('reports all errors in the fields of its type, and refuses fields of other types', async () => {
    const { body } = await owner
      .post('/data-pipelines')
      .send(databaseBody({ csvOptions: {}, jdbcSource: { hostname: 'a b', port: 0 } }))
      .expect(400)
    expect(pointers(body).toSorted()).toEqual([
      '/csvOptions',
      '/jdbcSource/database',
      '/jdbcSource/hostname',
      '/jdbcSource/port',
      '/jdbcSource/username',
    ])
  })

  it('is refused with an unknown type, or without a type if the fields match none', async () => {
    const { body } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { type: 'FAX' }))
      .expect(400)
    expect(body.errors).toEqual([{ pointer: '/type', detail: `must be one of: ${pipelineTypes.join(', ')}` }])
    const { body: empty } = await owner.post('/data-pipelines').send({ name: 'a' }).expect(400)
    expect(pointers(empty).toSorted()).toEqual(['/dataWarehouseTarget', '/disabled', '/runTrigger'])
    const none = pipelineBody(schema, { type: undefined, survey: 'a', facilities: ['HC01'] })
    const without = await owner.post('/data-pipelines').send(none).expect(400)
    expect(without.body.errors).toEqual([
      { pointer: '/type', detail: 'is required, because the fields match no pipeline type' },
    ])
  })

  it.each(Object.entries(samples).filter(([type]) => !/UPLOAD|DATABASE|WAREHOUSE/.test(type)))(
    'of type %s is recognised by its fields if it is sent without a type',
    async (type, sample) => {
      const made = await create(pipelineBody(schema, { type: undefined, ...withSecrets(sample, 'a value') }))
      expect(made.type).toBe(type)
      const { type: _type, ...untyped } = made
      const { body } = await owner
        .put(`/data-pipelines/${made.id}`)
        .send({ ...untyped, type: null })
        .expect(200)
      expect(body).toMatchObject({ type, ...sample.own })
    },
  )

  it('accepts partial objects, and is refused if a required field inside is missing', async () => {
    const made = await create(
      databaseBody({
        anonymousAccess: { metadata: true },
        transformation: {},
        continuousUpdateInterval: 0,
        fullRefreshInterval: -1,
      }),
    )
    expect(made).toMatchObject({
      anonymousAccess: { metadata: true, data: false },
      transformation: { sqlStatements: [] },
      continuousUpdateInterval: 0,
    })
    const zero = { ...made, continuouslyUpdated: true }
    const { body: refused } = await owner.put(`/data-pipelines/${made.id}`).send(zero).expect(422)
    expect(pointers(refused)).toEqual(['/continuousUpdateInterval'])
    const parts = { jdbcSource: {}, tables: [{}], transformation: { sqlStatements: [{}] }, translations: [{}] }
    const { body } = await owner.post('/data-pipelines').send(databaseBody(parts)).expect(400)
    expect(pointers(body)).toHaveLength(8)
    for (const { detail } of body.errors) expect(detail).toMatch(/^is required: ./)
    const facilities = ['HC01', 'HC01']
    const requisitions = pipelineBody(schema, { type: 'SOURCE_SYSTEM_H', ...samples.SOURCE_SYSTEM_H.own, facilities })
    expect((await create(requisitions)).facilities).toEqual(facilities)
  })

  it('needs a type if its fields fit several, and keeps its stored type in PUT without one', async () => {
    const { type: _type, ...untyped } = databaseBody()
    const { body: refused } = await owner.post('/data-pipelines').send(untyped).expect(422)
    expect(refused.errors).toEqual([{ pointer: '/type', detail: expect.stringContaining('SQL_DATABASE_D') }])
    const made = await create({ ...untyped, type: 'SQL_DATABASE_D', jdbcSource: { ...jdbcSource, password } })
    const put = (changes: object) => owner.put(`/data-pipelines/${made.id}`).send({ ...untyped, ...changes })
    await put({ jdbcSource: { ...jdbcSource, password: null } }).expect(200)
    expect((await stored(made.id)).open).toEqual({ password })
    expect((await put({ survey: 'a' }).expect(400)).body.errors).toEqual([
      { pointer: '/survey', detail: 'is not known here' },
    ])
    await put({ jdbcSource: { ...jdbcSource, password: '' } }).expect(200)
    expect((await stored(made.id)).open).toEqual({})
  })

  it('cannot change its type', async () => {
    const { id } = await create(pipelineBody(schema))
    const { body } = await owner.put(`/data-pipelines/${id}`).send(databaseBody()).expect(422)
    expect(pointers(body)).toEqual(['/type'])
  })

  it('stores the SQL statements of its transformation', async () => {
    const transformation = {
      sqlStatements: [{ description: 'Tidy.', statement: 'delete from staging where a is null' }],
    }
    const made = await create(pipelineBody(schema, { transformation }))
    expect(made.transformation).toEqual(transformation)
  })

  it.each([
    ['the same delimiter and comment character', { delimiter: '#', comment: '#' }, '/csvOptions/comment'],
    ['several header lines without a header row', { headerRow: false, headerLines: 2 }, '/csvOptions/headerLines'],
    ['an unknown encoding', { encoding: 'klingon-8' }, '/csvOptions/encoding'],
    ['a column without label and index', { columns: [{ dataType: 'TEXT' }] }, '/csvOptions/columns/0'],
    [
      'a scale without a precision',
      { columns: [{ index: 0, dataType: 'DECIMAL', scale: 2 }] },
      '/csvOptions/columns/0',
    ],
  ])('of uploaded files is refused with %s', async (_what, csvOptions, pointer) => {
    const { body } = await owner.post('/data-pipelines').send(pipelineBody(schema, { csvOptions })).expect(422)
    expect(pointers(body)).toEqual([pointer])
  })
})

describe('a pipeline from a database', () => {
  it('returns its default port and connection URL without credentials', async () => {
    const own = { jdbcSource: { ...jdbcSource, password, ssl: true } }
    expect(await create(databaseBody(own))).toMatchObject({
      defaultPort: 5432,
      jdbcConnectionUrl: 'jdbc:postgresql://db.example.org:5432/registry?sslmode=verify-full',
      dataPipelineSourceName: 'registry at db.example.org',
      scheduleable: true,
    })
    expect(await create(databaseBody({ ...own, type: 'SQL_DATABASE_A' }))).toMatchObject({
      defaultPort: 1433,
      jdbcConnectionUrl:
        'jdbc:sqlserver://db.example.org:1433;databaseName=registry;encrypt=true;trustServerCertificate=false',
    })
    expect(await create(databaseBody({ ...own, type: 'SQL_DATABASE_B' }))).toMatchObject({
      jdbcConnectionUrl: 'jdbc:mysql://db.example.org:3306/registry?sslMode=VERIFY_IDENTITY',
    })
    expect(await create(databaseBody({ ...own, type: 'SQL_DATABASE_C' }))).toMatchObject({
      jdbcConnectionUrl: 'jdbc:oracle:thin:@tcps://db.example.org:1521/registry',
    })
  })

  it('accepts a schedule, and requires a cron expression for CUSTOM', async () => {
    expect(await create(databaseBody({ runTrigger: 'EVERY_HOUR' }))).toMatchObject({ runTrigger: 'EVERY_HOUR' })
    const { body } = await owner
      .post('/data-pipelines')
      .send(databaseBody({ runTrigger: 'CUSTOM' }))
      .expect(422)
    expect(pointers(body)).toEqual(['/cronExpression'])
  })

  it.each([
    ['neither a query nor tables', { sqlQuery: undefined }, '/sqlQuery'],
    ['both a query and tables', { tables: [{ name: 'a' }] }, '/tables'],
    ['a blank query', { sqlQuery: ' ' }, '/sqlQuery'],
    ['a table twice', { sqlQuery: undefined, tables: [{ name: 'b' }, { name: 'a' }, { name: 'a' }] }, '/tables/2'],
    [
      'two tables that fill the same table',
      {
        sqlQuery: undefined,
        tables: [
          { schema: 'one', name: 'Ä 1' },
          { schema: 'two', name: 'a_1' },
        ],
      },
      '/tables/1',
    ],
    [
      'increments of one table only',
      { sqlQuery: undefined, tables: [{ name: 'a', incremental: { cursorColumn: 'at', key: ['id'] } }, { name: 'b' }] },
      '/tables/1/incremental',
    ],
    [
      'more tables than the maximum',
      { sqlQuery: undefined, tables: Array.from({ length: 1_000 }, (_, index) => ({ name: `t${index}` })) },
      '/tables',
    ],
    ['a port in the hostname', { jdbcSource: { ...jdbcSource, hostname: 'db:5432' } }, '/jdbcSource/hostname'],
  ])('is refused with %s', async (_what, changes, pointer) => {
    const { body } = await owner.post('/data-pipelines').send(databaseBody(changes)).expect(422)
    expect(pointers(body)).toEqual([pointer])
  })

  it('keeps the settings of incremental runs', async () => {
    const incremental = { cursorColumn: 'updated_at', key: ['site', 'id'], lookback: 600, deletedColumn: 'deleted' }
    const { id } = await create(databaseBody({ incremental }))
    expect((await owner.get(`/data-pipelines/${id}`).expect(200)).body.incremental).toEqual(incremental)
    await owner.put(`/data-pipelines/${id}`).send(databaseBody()).expect(200)
    expect((await owner.get(`/data-pipelines/${id}`).expect(200)).body.incremental).toBeUndefined()
    const reset = await owner.post(`/data-pipelines/${id}/reset-cursor`).send({}).expect(422)
    expect(reset.body.detail).toContain('has no cursor to reset')
  })

  it.each([
    ['without a key', { cursorColumn: 'a' }, '/incremental/key'],
    ['with an empty key', { cursorColumn: 'a', key: [] }, '/incremental/key'],
    ['with a key column twice', { cursorColumn: 'a', key: ['b', 'b'] }, '/incremental/key'],
    ['without a cursor column', { key: ['a'] }, '/incremental/cursorColumn'],
    ['with an interval as lookback', { cursorColumn: 'a', key: ['b'], lookback: '5 min' }, '/incremental/lookback'],
    ['with a negative lookback', { cursorColumn: 'a', key: ['b'], lookback: -1 }, '/incremental/lookback'],
    ['with an unknown field', { cursorColumn: 'a', key: ['b'], deleted: 'c' }, '/incremental/deleted'],
  ])('is refused with incremental settings %s', async (_what, incremental, pointer) => {
    const { body } = await owner.post('/data-pipelines').send(databaseBody({ incremental })).expect(400)
    expect(pointers(body)).toEqual([pointer])
  })

  it('refuses an uploaded file', async () => {
    const { id } = await create(databaseBody())
    const { body } = await owner.post(`/data-pipelines/${id}/file`).type('text/csv').send('a\n').expect(422)
    expect(body.detail).toBe(
      'A pipeline of type SQL_DATABASE_D reads from PostgreSQL and accepts no file. Upload the file to a pipeline of type CSV_UPLOAD or PARQUET_UPLOAD.',
    )
  })
})

describe('the password of a source', () => {
  it('is encrypted, kept if it is absent or null, replaced by a new value, and removed by an empty string', async () => {
    const made = await create(databaseBody({ jdbcSource: { ...jdbcSource, password } }))
    const put = (own: object) => owner.put(`/data-pipelines/${made.id}`).send(databaseBody(own)).expect(200)
    const first = await stored(made.id)
    expect(first.open).toEqual({ password })
    expect(first.sealed).not.toContain(password)
    await put({ jdbcSource })
    expect((await stored(made.id)).open).toEqual({ password })
    await put({ jdbcSource: { ...jdbcSource, password: 'another one' } })
    expect((await stored(made.id)).open).toEqual({ password: 'another one' })
    await put({ jdbcSource: { ...jdbcSource, password: null } })
    expect((await stored(made.id)).open).toEqual({ password: 'another one' })
    await put({ jdbcSource: { ...jdbcSource, password: '' } })
    expect((await stored(made.id)).sealed).toBeNull()
    await put({ jdbcSource })
    expect((await stored(made.id)).sealed).toBeNull()
  })

  it('is not kept for another hostname, port or SSL setting, for which the password must be sent again', async () => {
    const { id } = await create(databaseBody({ jdbcSource: { ...jdbcSource, password } }))
    for (const change of [{ hostname: 'evil.example' }, { port: 5433 }, { ssl: true }]) {
      const body = databaseBody({ jdbcSource: { ...jdbcSource, ...change } })
      const refused = await owner.put(`/data-pipelines/${id}`).send(body).expect(422)
      expect(pointers(refused.body)).toEqual(['/jdbcSource/password'])
    }
    const body = databaseBody({ jdbcSource: { ...jdbcSource, hostname: 'DB.example.org', port: 5432, ssl: false } })
    await owner.put(`/data-pipelines/${id}`).send(body).expect(200)
    expect((await stored(id)).open).toEqual({ password })
  })

  it('is in no response, audit row or log line', async () => {
    const { id, ...made } = await create(databaseBody({ jdbcSource: { ...jdbcSource, password } }))
    const { text } = await owner.get(`/data-pipelines/${id}`).expect(200)
    const changed = await owner.put(`/data-pipelines/${id}`).send(databaseBody({ jdbcSource })).expect(200)
    const audited = await service.stack.db.selectFrom('audit').selectAll().where('object', '=', id).execute()
    expect(audited).toHaveLength(2)
    const { sealed } = await stored(id)
    for (const said of [JSON.stringify(made), text, changed.text, JSON.stringify(audited), service.log()]) {
      expect(said).not.toContain(password)
      expect(said).not.toContain(sealed)
    }
  })
})
