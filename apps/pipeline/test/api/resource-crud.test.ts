import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Person } from '../join-shared-identity-service.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'

let service: Service
let person: Person
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  const { id } = await service.identity.client()
  person = await service.identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])
  owner = service.as(person)
  schema = await newSchema()
})
afterAll(() => service?.stop())

const newSchema = async (changes = {}) => (await owner.post('/schemas').send(schemaBody(changes)).expect(201)).body.id
const newPipeline = async (changes = {}) =>
  (await owner.post('/data-pipelines').send(pipelineBody(schema, changes)).expect(201)).body.id
const pointers = ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer)
const unchanging = ({ lastUpdated: _when, ...rest }: { lastUpdated: string }) => rest

const shared = () => ({
  translations: [
    { locale: 'de', property: 'name', value: 'Bestand' },
    { locale: 'de', property: 'description', value: 'Was da ist.' },
  ],
  description: 'What there is.',
  tags: ['stock', 'health'],
  access: { publicAccess: 'READ', userAccess: [{ id: person.id, access: 'READ_WRITE' }], userGroupAccess: [] },
})
const kinds = {
  schemas: () => schemaBody(shared()),
  'data-pipelines': () =>
    pipelineBody(schema, {
      ...shared(),
      owner: 'Statistics',
      url: 'https://example.org',
      reference: 'R-1',
      source: 'Registry',
      termsOfUse: 'CC0',
      cronExpression: '0 0 * * *',
      csvOptions: { delimiter: 'SEMI_COLON', headerRow: true },
      anonymousAccess: { metadata: true, data: false },
      transformation: { sqlStatements: [] },
    }),
}

describe.each(Object.entries(kinds))('%s', (noun, everything) => {
  const path = `/${noun}`
  const create = async (changes = {}) =>
    (
      await owner
        .post(path)
        .send({ ...everything(), ...changes })
        .expect(201)
    ).body

  it('returns all sent fields, the location, the ETag and the author after POST', async () => {
    const sent = everything()
    const { body, headers } = await owner.post(path).send(sent).expect(201)
    expect(headers).toMatchObject({ location: `/api/v1${path}/${body.id}`, etag: '"1"' })
    const { dataWarehouseTarget: _target, ...plain } = sent as { dataWarehouseTarget?: object }
    expect(body).toMatchObject(plain)
    expect(body).toMatchObject({ createdBy: person.username, lastUpdatedBy: person.username, client: person.client })
    const read = await owner.get(`${path}/${body.id}`).expect(200)
    expect(read.body).toEqual(body)
    expect(read.headers['etag']).toBe('"1"')
  })

  it('accepts in PUT the body of GET, and keeps all fields', async () => {
    const { id } = await create()
    const { body, headers } = await owner.get(`${path}/${id}`).expect(200)
    const put = await owner.put(`${path}/${id}`).set('If-Match', headers['etag']!).send(body).expect(200)
    expect(unchanging(put.body)).toEqual(unchanging(body))
    expect(put.headers['etag']).toBe('"2"')
  })

  it('removes fields that PUT omits, except for access', async () => {
    const { id, name, access } = await create()
    const small = noun === 'schemas' ? schemaBody({ name }) : pipelineBody(schema, { name })
    const { body } = await owner.put(`${path}/${id}`).send(small).expect(200)
    expect(body).toMatchObject({ translations: [], tags: [], access })
    expect(body).not.toHaveProperty('description')
    expect(body).not.toHaveProperty('csvOptions')
  })

  it('reports unknown fields, also in nested objects', async () => {
    const sent = { ...everything(), colour: 'red', access: { shade: 1 }, translations: [{ hue: 2 }] }
    const { body } = await owner.post(path).send(sent).expect(400)
    expect(pointers(body)).toEqual(expect.arrayContaining(['/colour', '/access/shade', '/translations/0/hue']))
    const odd = '{"__proto__":{"name":"x"},"constructor":1,"type":"CSV_UPLOAD"}'
    const proto = await owner.post(path).type('json').send(odd).expect(400)
    expect(pointers(proto.body)).toEqual(expect.arrayContaining(['/__proto__', '/constructor', '/name']))
  })

  it('changes only the version in If-Match, otherwise returns 412', async () => {
    const made = await create()
    const one = `${path}/${made.id}`
    const grants = { userAccess: [], userGroupAccess: [] }
    await owner.put(one).set('If-Match', '"1"').send(made).expect(200)
    for (const stale of ['"1"', '"3"', 'W/"2"', '"2", "3"', 'nonsense']) {
      const { body } = await owner.put(one).set('If-Match', stale).send(made).expect(412)
      expect(body.code).toBe('stale')
      await owner.put(`${one}/access`).set('If-Match', stale).send(grants).expect(412)
      await owner.delete(one).set('If-Match', stale).expect(412)
    }
    await owner.put(`${one}/access`).set('If-Match', '*').send(grants).expect(200).expect('ETag', '"3"')
    await owner.delete(one).set('If-Match', '"3"').expect(204)
    await owner.get(one).expect(404)
  })

  it('accepts one of several concurrent changes of the same version', async () => {
    const made = await create()
    const put = (description: string) =>
      owner
        .put(`${path}/${made.id}`)
        .set('If-Match', '"1"')
        .send({ ...made, description })
    const answers = await Promise.all([put('one'), put('two'), put('three')])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
  })

  it('accepts one of several concurrent requests with the same name, and returns 409 to the others', async () => {
    const twin = everything()
    const answers = await Promise.all([1, 2, 3].map(() => owner.post(path).send(twin)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409])
    expect(pointers(answers.find(({ status }) => status === 409)!.body)[0]).toMatch(/^\/(name|schemaName|dataW.*)$/)
    const other = await create()
    const { body } = await owner
      .put(`${path}/${other.id}`)
      .send({ ...other, name: twin.name })
      .expect(409)
    expect(body).toMatchObject({ code: 'conflict', errors: [{ pointer: '/name' }] })
  })

  it('accepts any valid Unicode text, and refuses lone surrogates, NUL and blank names', async () => {
    const { id } = await create({ name: `🜲 'quoted' \\u0000 "x" ${randomUUID()} %00 \u{10ffff}`, description: '\t\n' })
    const { body } = await owner.get(`${path}/${id}`).expect(200)
    expect(body).toMatchObject({ description: '\t\n', name: expect.stringMatching(/^🜲 'quoted' \\u0000/) })
    for (const half of ['\\ud800', '\\udc00x', 'x\\ud83d']) {
      const text = JSON.stringify({ ...everything(), tags: ['HALF'] }).replace('HALF', half)
      const { body } = await owner.post(path).type('json').send(text).expect(400)
      expect([body.code, body.detail]).toEqual(['unreadable-body', expect.stringContaining('half a surrogate pair')])
    }
    const nul = JSON.stringify({ ...everything(), name: 'a\0b' })
    expect((await owner.post(path).type('json').send(nul).expect(400)).body.detail).toContain('NUL')
    const { body: blank } = await owner
      .post(path)
      .send({ ...everything(), name: '   ' })
      .expect(400)
    expect(blank.errors).toEqual([{ pointer: '/name', detail: 'must not be blank' }])
  })

  it('writes one audit row for each change, and none for a refused request', async () => {
    const made = await create()
    await owner.put(`${path}/${made.id}`).set('x-request-id', 'audited-7').send(made).expect(200)
    await owner.put(`${path}/${made.id}`).set('If-Match', '"1"').send(made).expect(412)
    await owner.delete(`${path}/${made.id}`).expect(204)
    const rows = await service.stack.db
      .selectFrom('audit')
      .selectAll()
      .where('object', '=', made.id)
      .orderBy('id')
      .execute()
    const plural = noun === 'schemas' ? 'schemas' : 'dataPipelines'
    const by = { actor: person.id, client: person.client, object: made.id }
    expect(rows).toMatchObject([
      { ...by, operation: `${plural}.create`, details: { after: { name: made.name } } },
      { ...by, operation: `${plural}.update`, request_id: 'audited-7', address: expect.stringContaining('127.0.0.1') },
      { ...by, operation: `${plural}.delete` },
    ])
  })
})

describe('schemas', () => {
  it('derive their schema name from the first name, and do not change it', async () => {
    const { body } = await owner
      .post('/schemas')
      .send(schemaBody({ name: 'Größe der Welt' }))
      .expect(201)
    expect(body).toMatchObject({ schemaName: 'grosse_der_welt', statistics: { dataPipelines: 0, views: 0 } })
    const renamed = await owner
      .put(`/schemas/${body.id}`)
      .send({ ...body, name: 'Weltgröße' })
      .expect(200)
    expect(renamed.body).toMatchObject({ name: 'Weltgröße', schemaName: 'grosse_der_welt' })
    const moved = await owner
      .put(`/schemas/${body.id}`)
      .send({ ...body, schemaName: 'elsewhere' })
      .expect(422)
    expect(pointers(moved.body)).toEqual(['/schemaName'])
  })

  it.each(['public', 'pg_mine', 'sluice', 'Upper', 'has space', '1st', 'a"b', 'a.b', 'ä'.repeat(32), 'x;drop table y'])(
    'refuse %j as their schema name',
    async (schemaName) => {
      const { body } = await owner.post('/schemas').send(schemaBody({ schemaName })).expect(422)
      expect(pointers(body)).toEqual(['/schemaName'])
    },
  )

  it('refuse a warehouse that is not configured, and accept no pipelines without a warehouse', async () => {
    const { body } = await owner
      .post('/schemas')
      .send(schemaBody({ providerSchema: 'WAREHOUSE_A' }))
      .expect(422)
    expect(body.errors).toEqual([
      {
        pointer: '/providerSchema',
        detail: expect.stringMatching(/^WAREHOUSE_A \(Redshift, REDSHIFT_URL\) is not configured here. Use/),
      },
    ])
    const none = await newSchema({ providerSchema: 'NA' })
    const refused = await owner.post('/data-pipelines').send(pipelineBody(none)).expect(422)
    expect(pointers(refused.body)).toEqual(['/dataWarehouseTarget/schema/id'])
  })

  it('cannot change their warehouse while they contain pipelines', async () => {
    const used = await newSchema()
    const { body: pipeline } = await owner.post('/data-pipelines').send(pipelineBody(used)).expect(201)
    const { body: schema } = await owner.get(`/schemas/${used}`).expect(200)
    const moved = { ...schema, providerSchema: 'NA' }
    const { body } = await owner.put(`/schemas/${used}`).send(moved).expect(422)
    expect(pointers(body)).toEqual(['/providerSchema'])
    await owner.delete(`/data-pipelines/${pipeline.id}`).expect(204)
    await owner.put(`/schemas/${used}`).send(moved).expect(200)
    await owner.put(`/schemas/${used}`).send(schema).expect(200)
  })

  it('cannot be deleted while pipelines load into them, or if they are permanent', async () => {
    const used = await newSchema()
    const { body: pipeline } = await owner.post('/data-pipelines').send(pipelineBody(used)).expect(201)
    const { body } = await owner.delete(`/schemas/${used}`).expect(409)
    expect(body).toMatchObject({ code: 'conflict', detail: expect.stringContaining(`"${pipeline.name}"`) })
    expect((await owner.get(`/schemas/${used}`)).body.statistics.dataPipelines).toBe(1)
    await owner.delete(`/data-pipelines/${pipeline.id}`).expect(204)
    await owner.delete(`/schemas/${used}`).expect(204)
    const permanent = await newSchema({ permanent: true })
    expect(pointers((await owner.delete(`/schemas/${permanent}`).expect(422)).body)).toEqual(['/permanent'])
  })
})

describe('data pipelines', () => {
  it('derive their table name from their name, and refuse a name that is taken or invalid', async () => {
    const { body } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { name: 'Ärzte / Ort' }))
      .expect(201)
    expect(body).toMatchObject({
      dataWarehouseTarget: { schema: { id: schema }, tableName: 'arzte_ort' },
      status: { lastRunStatus: 'NEVER_RUN', tables: [] },
      type: 'CSV_UPLOAD',
    })
    const target = { schema: { id: schema }, tableName: 'arzte_ort' }
    const taken = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { dataWarehouseTarget: target }))
      .expect(409)
    expect(pointers(taken.body)).toEqual(['/dataWarehouseTarget/tableName'])
    const odd = pipelineBody(schema, { dataWarehouseTarget: { ...target, tableName: 'x"; drop table y' } })
    expect(pointers((await owner.post('/data-pipelines').send(odd).expect(422)).body)).toEqual([
      '/dataWarehouseTarget/tableName',
    ])
  })

  it('are refused with a schema that does not exist or belongs to another organisation', async () => {
    const { id: client } = await service.identity.client()
    const stranger = service.as(await service.identity.person(client, ['ROLE_MANAGE_DATA_PIPELINE']))
    for (const [asking, id] of [
      [owner, randomUUID()],
      [stranger, schema],
    ] as const) {
      const { body } = await asking.post('/data-pipelines').send(pipelineBody(id)).expect(422)
      expect(body.errors).toEqual([
        {
          pointer: '/dataWarehouseTarget/schema/id',
          detail: `No schema that you may write to has the id ${id}. Choose another schema.`,
        },
      ])
    }
  })

  it('of uploaded files accept a schedule', async () => {
    const { body } = await owner
      .post('/data-pipelines')
      .send(pipelineBody(schema, { runTrigger: 'EVERY_HOUR' }))
      .expect(201)
    expect(body).toMatchObject({ runTrigger: 'EVERY_HOUR' })
  })

  it('can be changed by a user with write access, but not moved to a schema without it', async () => {
    const grants = (access: string) => ({ userAccess: [{ id: colleague.id, access }] })
    const colleague = await service.identity.person(person.client, ['ROLE_MANAGE_DATA_PIPELINE'])
    const uid = await newPipeline({ access: grants('READ_WRITE') })
    const { body } = await service.as(colleague).get(`/data-pipelines/${uid}`).expect(200)
    await service
      .as(colleague)
      .put(`/data-pipelines/${uid}`)
      .send({ ...body, description: 'Mine too.' })
      .expect(200)
    const elsewhere = { dataWarehouseTarget: { schema: { id: await newSchema() } } }
    const moved = await service
      .as(colleague)
      .put(`/data-pipelines/${uid}`)
      .send({ ...body, ...elsewhere })
      .expect(422)
    expect(pointers(moved.body)).toEqual(['/dataWarehouseTarget/schema/id'])
  })
})
