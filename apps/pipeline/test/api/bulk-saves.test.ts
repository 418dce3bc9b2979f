import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import pg from 'pg'
import { unsealSourceSecrets } from '../../src/secrets/encrypted-secrets.ts'
import { pipelineBody, schemaBody, startService, type Asking, type Service } from './app-under-test.ts'
import { checkBody, groupBody } from './quality-check-bodies.ts'
import { samples, withSecrets } from './pipeline-type-samples.ts'
import { viewBody } from './view-fixtures.ts'
import { job, workflowBody } from './workflow-body.ts'

let service: Service
let client: string
let owner: Asking
let schema: string
beforeAll(async () => {
  service = await startService()
  client = (await service.identity.client()).id
  owner = service.as(await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']))
  schema = (await owner.post('/schemas').send(schemaBody()).expect(201)).body.id
})
afterAll(() => service?.stop())

type Sampled = 'SOURCE_SYSTEM_E' | 'SOURCE_SYSTEM_H' | 'OBJECT_STORAGE_BUCKET'
const newBody = (type: Sampled, changes: object = {}) =>
  pipelineBody(schema, { type, ...withSecrets(samples[type], 'a value'), ...changes })
const save = (...dataPipelines: object[]) => owner.post('/data-pipelines/bulk').send({ dataPipelines })
const pointers = (body: any): string[] => body.errors.map(({ pointer }: { pointer: string }) => pointer)
/** Counts the statements of all connections of this process until it is called. */
function countStatements(): () => number {
  const asked = jest.spyOn(pg.Client.prototype, 'query')
  return () => {
    const { length } = asked.mock.calls
    asked.mockRestore()
    return length
  }
}
const count = async () => Number((await owner.get('/data-pipelines?pageSize=1')).headers['x-total-count'])

describe('the bulk save of pipelines', () => {
  it('replaces pipelines with a known name, whatever id is sent, and creates the others', async () => {
    const [first, second] = await Promise.all(
      [newBody('SOURCE_SYSTEM_E'), newBody('SOURCE_SYSTEM_H')].map((body) =>
        owner.post('/data-pipelines').send(body).expect(201),
      ),
    )
    const fresh = newBody('OBJECT_STORAGE_BUCKET')
    // As another installation exported it.
    const exported = { ...first!.body, id: randomUUID(), client: randomUUID(), survey: 'another' }
    const { id: _, ...named } = second!.body
    const { body } = await save(exported, { ...named, facilities: ['HC02'] }, fresh).expect(200)
    expect(body.dataPipelines).toEqual([
      { id: first!.body.id, name: exported.name, type: 'SOURCE_SYSTEM_E', result: 'UPDATED' },
      { id: second!.body.id, name: named.name, type: 'SOURCE_SYSTEM_H', result: 'UPDATED' },
      { id: expect.any(String), name: fresh.name, type: 'OBJECT_STORAGE_BUCKET', result: 'CREATED' },
    ])
    const read = async (id: string) => (await owner.get(`/data-pipelines/${id}`).expect(200)).body
    expect(await read(first!.body.id)).toMatchObject({ name: exported.name, survey: 'another' })
    expect(await read(second!.body.id)).toMatchObject({ facilities: ['HC02'] })
    expect(await read(body.dataPipelines[2].id)).toMatchObject({
      name: fresh.name,
      key: samples.OBJECT_STORAGE_BUCKET.own['key'],
    })

    const row = service.stack.db.selectFrom('data_pipelines').select(['uid', 'source_secrets'])
    const kept = await row.where('uid', '=', first!.body.id).executeTakeFirstOrThrow()
    expect(unsealSourceSecrets(kept, service.config.SECRET_KEYS)).toEqual({ authToken: 'a value' })
    for (const { id } of body.dataPipelines) {
      const audited = service.stack.db.selectFrom('audit').select('operation').where('object', '=', id)
      expect(await audited.execute()).toContainEqual({ operation: 'dataPipelines.saveMany' })
    }
  })

  it('takes a missing type from the stored pipeline of that name, or from the fields if they fit only one type', async () => {
    const fresh = newBody('SOURCE_SYSTEM_H')
    const stored = pipelineBody(schema, { type: 'PARQUET_UPLOAD' })
    await owner.post('/data-pipelines').send(stored).expect(201)
    const untyped = (body: object) => ({ ...body, type: undefined })
    const { body } = await save(untyped(fresh), untyped(stored)).expect(200)
    expect(body.dataPipelines).toMatchObject([
      { name: fresh.name, type: 'SOURCE_SYSTEM_H', result: 'CREATED' },
      { name: stored.name, type: 'PARQUET_UPLOAD', result: 'UPDATED' },
    ])
    const refused = await save(
      untyped(fresh),
      untyped(pipelineBody(schema)),
      untyped(pipelineBody(schema, { fax: 1 })),
    ).expect(422)
    expect(pointers(refused.body)).toEqual(['/dataPipelines/1/type', '/dataPipelines/2/type'])
  })

  it('saves nothing if one pipeline is refused, and reports the error of each pipeline', async () => {
    const before = await count()
    const taken = (await owner.post('/data-pipelines').send(newBody('SOURCE_SYSTEM_E')).expect(201)).body
    const target = { schema: { id: schema }, tableName: taken.dataWarehouseTarget.tableName }
    const { body } = await save(
      newBody('SOURCE_SYSTEM_E'),
      newBody('SOURCE_SYSTEM_E', { dataWarehouseTarget: target }),
      newBody('SOURCE_SYSTEM_H', { dataWarehouseTarget: { schema: { id: randomUUID() } } }),
      {
        ...taken,
        type: 'SOURCE_SYSTEM_H',
        facilities: ['a'],
        startDate: '2026-01-01',
        endDate: '2026-01-02',
        survey: undefined,
      },
    ).expect(422)
    expect(body.code).toBe('not-saved')
    expect(pointers(body)).toEqual([
      '/dataPipelines/1/dataWarehouseTarget/tableName',
      '/dataPipelines/2/dataWarehouseTarget/schema/id',
      '/dataPipelines/3/type',
    ])
    expect(await count()).toBe(before + 1)
  })

  it('checks the rules of each type before it writes anything', async () => {
    const wrong = newBody('SOURCE_SYSTEM_H', { endDate: '2020-01-01' })
    const { body } = await save(
      newBody('SOURCE_SYSTEM_E'),
      wrong,
      newBody('OBJECT_STORAGE_BUCKET', { key: '[' }),
    ).expect(422)
    expect(pointers(body)).toEqual(['/dataPipelines/1/endDate', '/dataPipelines/2/key'])
    const malformed = await save({ ...wrong, facilities: [] }, newBody('SOURCE_SYSTEM_E')).expect(400)
    expect(pointers(malformed.body)).toEqual(['/dataPipelines/0/facilities'])
  })

  it('refuses two pipelines with the same name in one request, and a malformed id', async () => {
    const one = newBody('SOURCE_SYSTEM_E')
    const { body } = await save(one, newBody('SOURCE_SYSTEM_H', { name: one.name })).expect(422)
    expect(pointers(body)).toEqual(['/dataPipelines/1/name'])
    const malformed = await save({ ...one, id: 'x' }).expect(400)
    expect(pointers(malformed.body)).toEqual(['/dataPipelines/0/id'])
  })

  it('refuses the name of a pipeline that the user may not change, and leaves that pipeline unchanged', async () => {
    const theirs = (await owner.post('/data-pipelines').send(newBody('SOURCE_SYSTEM_E')).expect(201)).body
    const colleague = service.as(
      await service.identity.person(client, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']),
    )
    const own = (await colleague.post('/schemas').send(schemaBody()).expect(201)).body.id
    const target = { dataWarehouseTarget: { schema: { id: own } } }
    const dataPipelines = [newBody('SOURCE_SYSTEM_E', { ...target, name: theirs.name })]
    const { body } = await colleague.post('/data-pipelines/bulk').send({ dataPipelines }).expect(422)
    expect(pointers(body)).toEqual(['/dataPipelines/0/name'])
    expect((await owner.get(`/data-pipelines/${theirs.id}`).expect(200)).body.lastUpdated).toBe(theirs.lastUpdated)
  })

  it('accepts 1 to 1,000 pipelines, and uses few statements for 1,000', async () => {
    const many = (length: number) => Array.from({ length }, () => newBody('SOURCE_SYSTEM_E'))
    await save(...many(1_001)).expect(422)
    await save().expect(400)
    const before = await count()
    const bodies = many(1_000)
    const created = countStatements()
    await save(...bodies).expect(200)
    // A few for all of them, not a few for each.
    expect(created()).toBeLessThan(50)
    const replaced = countStatements()
    const again = await save(...bodies).expect(200)
    expect(replaced()).toBeLessThan(1_050)
    expect(again.body.dataPipelines[999]).toMatchObject({ name: bodies[999]!.name, result: 'UPDATED' })
    expect(await count()).toBe(before + 1_000)
    const audited = service.stack.db.selectFrom('audit').select((eb) => eb.fn.countAll<number>().as('count'))
    const { count: noted } = await audited.where('operation', '=', 'dataPipelines.saveMany').executeTakeFirstOrThrow()
    expect(noted).toBeGreaterThanOrEqual(1_000)
  })
})

const quality = ['ROLE_MANAGE_DATA_QUALITY_CHECK', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP'] as const
const others = ['ROLE_MANAGE_VIEW', 'ROLE_MANAGE_DESTINATION', 'ROLE_MANAGE_WORKFLOW'] as const
type MakeBody = (scene: { schema: string; view: string }) => object
const named = (name: string) => `${name} ${randomUUID()}`
const destination: MakeBody = ({ view }) => ({
  name: named('Destination'),
  disabled: false,
  runTrigger: 'NEVER',
  viewSource: { id: view },
  apiTokenTarget: { url: 'https://dhis2.example.org', authToken: 'a-token' },
})

describe.each<[string, string, MakeBody, MakeBody, string]>([
  [
    'views',
    'views',
    ({ schema }) => viewBody(schema, 'select 1 as one'),
    ({ schema }) => viewBody(schema, 'select ${A}'),
    '/query',
  ],
  [
    'data-quality-checks',
    'dataQualityChecks',
    () => checkBody(),
    () => checkBody({ access: { userAccess: [{ id: randomUUID() }] } }),
    '/access/userAccess/0/id',
  ],
  [
    'data-quality-check-groups',
    'dataQualityCheckGroups',
    () => groupBody(),
    () => groupBody({ dataQualityChecks: [{ id: randomUUID() }] }),
    '/dataQualityChecks/0/id',
  ],
  [
    'destinations',
    'destinations',
    destination,
    (scene) => ({ ...destination(scene), viewSource: { id: randomUUID() } }),
    '/viewSource/id',
  ],
  [
    'workflows',
    'workflows',
    () => workflowBody([]),
    () => workflowBody([{ jobs: [job(randomUUID())] }]),
    '/steps/steps/0/jobs/0/object/uid',
  ],
])('the bulk save of %s', (path, list, make, makeWrong, pointer) => {
  let manager: Asking
  let reader: Asking
  let scene: { schema: string; view: string }
  beforeAll(async () => {
    const roles = ['ROLE_MANAGE_SCHEMA', ...quality, ...others] as const
    const { id } = await service.identity.client()
    manager = service.as(await service.identity.person(id, [...roles]))
    reader = service.as(await service.identity.person(id, [...roles]))
    const access = { publicAccess: 'READ_WRITE' }
    const { body } = await manager.post('/schemas').send(schemaBody({ access })).expect(201)
    const view = await manager
      .post('/views')
      .send(viewBody(body.id, 'select 1 as one', { access }))
      .expect(201)
    scene = { schema: body.id, view: view.body.id }
  })
  const post = (by: Asking, ...bodies: object[]) => by.post(`/${path}/bulk`).send({ [list]: bodies })

  it('creates and replaces by name, all or none, with the violations of each', async () => {
    const [first, second, third] = [make(scene), make(scene), make(scene)] as Record<string, unknown>[]
    const created = await post(manager, first!, second!).expect(200)
    expect(created.body[list]).toMatchObject([
      { name: first!['name'], result: 'CREATED' },
      { name: second!['name'], result: 'CREATED' },
    ])
    const [{ id }] = created.body[list]
    const replaced = await post(manager, { ...first, description: 'new', id: randomUUID() }, third!).expect(200)
    expect(replaced.body[list]).toMatchObject([{ id, result: 'UPDATED' }, { result: 'CREATED' }])
    const { body: read } = await manager.get(`/${path}/${id}`).expect(200)
    expect(read.description).toBe('new')

    const refused = await post(
      manager,
      { ...first, description: 'newer' },
      makeWrong(scene),
      first!,
      makeWrong(scene),
    ).expect(422)
    expect(refused.body.errors.map((one: { pointer: string }) => one.pointer)).toEqual(
      expect.arrayContaining([`/${list}/2/name`]),
    )
    const invalid = await post(manager, { ...first, description: 'newer' }, makeWrong(scene), makeWrong(scene)).expect(
      422,
    )
    expect(invalid.body.errors.map((one: { pointer: string }) => one.pointer)).toEqual([
      `/${list}/1${pointer}`,
      `/${list}/2${pointer}`,
    ])
    expect((await manager.get(`/${path}/${id}`).expect(200)).body.description).toBe('new')
  })

  it('refuses objects that the user may not change', async () => {
    const hidden = { ...make(scene), access: { publicAccess: 'NONE' } }
    const shown = { ...make(scene), access: { publicAccess: 'READ' } }
    await post(manager, hidden, shown).expect(200)
    const { body } = await post(reader, hidden, shown).expect(422)
    expect(body.errors).toEqual([
      { pointer: `/${list}/0/name`, detail: expect.stringContaining('has this name') },
      { pointer: `/${list}/1`, detail: expect.stringContaining('shared with you for reading only') },
    ])
  })
})
